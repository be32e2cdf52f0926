package console

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"mcphub/hub/status"
	"mcphub/internal/admin"
)

// nowData is what the view of now shows.
type nowData struct {
	Hubs   []nowHub
	Silent []string
	Curves []curve
	Since  time.Time // of the curves; zero: they do not run
	Wrong  string    // with the curves
	Record string
}

type nowHub struct {
	admin.Report
	Servers []nowServer
	Memory  int64 // of the hub itself
}

type nowServer struct {
	status.Child
	Memory int64 // of its processes
}

func (s *Server) now(r *http.Request) page {
	return page{View: "/now", Live: true, Data: s.lookNow(r.Context())}
}

func (s *Server) lookNow(ctx context.Context) nowData {
	reports, silent := s.cfg.Hubs(ctx)
	var pids []int
	for i := range reports {
		for _, c := range reports[i].Children {
			if c.PID > 0 {
				pids = append(pids, c.PID)
			}
		}
	}
	memory := memoryOf(pids)
	d := nowData{Silent: silent, Record: s.cfg.Record}
	for _, report := range reports {
		h := nowHub{Report: report}
		for _, c := range report.Children {
			h.Servers = append(h.Servers, nowServer{c, memory[c.PID]})
		}
		d.Hubs = append(d.Hubs, h)
	}
	d.Curves, d.Since, d.Wrong = s.traffic.curves(time.Now())
	return d
}

// restart and reload do what a person has clicked, and show how things are then.

func (s *Server) restart(r *http.Request) page {
	said, err := s.cfg.Restart(r.Context(), r.PostForm.Get("hub"), r.PostForm.Get("server"))
	p := s.now(r)
	p.Notice = said
	if err != nil {
		p.Notice = r.PostForm.Get("server") + " was not restarted: " + err.Error()
	}
	return p
}

func (s *Server) reload(r *http.Request) page {
	err := s.cfg.Reload(r.Context(), r.PostForm.Get("hub"))
	p := s.now(r)
	p.Notice = "hub.json was read again"
	if err != nil {
		p.Notice = "the former configuration stays in force: " + err.Error()
	}
	return p
}

func (s *Server) configuration(r *http.Request) page {
	return page{View: "/configuration", Data: s.cfg.File(r.Context())}
}

// looksOnly is told where a page may answer nothing.
const looksOnly = "this page was loaded anew, so it only shows what waits; end the console and start it again to answer here"

// questionsData is what the view of questions shows.
type questionsData struct {
	All    []Question
	Silent []string
	Looks  bool // the page was loaded anew, and answers nothing
}

func (s *Server) questions(r *http.Request) page {
	all, silent := s.cfg.Questions(r.Context())
	d := questionsData{All: all, Silent: silent, Looks: !s.guard.mayAnswer(r)}
	for i := range all {
		if d.Looks {
			all[i].Hub, all[i].ID, all[i].Digest, all[i].Choices = "", "", "", nil
		}
	}
	return page{View: "/questions", Live: true, Data: d}
}

// answer passes on what a person has clicked, with the digest of what they saw: a question that
// has changed meanwhile takes no answer.
func (s *Server) answer(r *http.Request) page {
	if !s.guard.mayAnswer(r) {
		p := s.questions(r)
		p.Notice = "That answer does not count: " + looksOnly
		return p
	}
	a := Answer{Hub: r.PostForm.Get("hub"), ID: r.PostForm.Get("id"), Digest: r.PostForm.Get("digest"), Decision: r.PostForm.Get("decision")}
	err := s.cfg.Answer(r.Context(), a)
	p := s.questions(r)
	p.Notice = "Allowed: " + a.Decision + "."
	switch {
	case err != nil:
		p.Notice = "That answer does not count: " + err.Error()
	case a.Decision == "deny":
		p.Notice = "Denied."
	}
	return p
}

// InstanceText names what an instance serves, where it is one of several.
func (n nowServer) InstanceText() string {
	switch {
	case len(n.Sessions) > 1:
		return strconv.Itoa(len(n.Sessions)) + " sessions"
	case n.Instance != "":
		return n.Instance[:min(8, len(n.Instance))]
	}
	return ""
}
