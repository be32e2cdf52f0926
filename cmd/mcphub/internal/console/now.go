package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/hub/status"
)

// maxRows is how many servers, and how many sessions, a page shows of all hubs together; fewestRows of each hub at least.
const maxRows, fewestRows = 50, 5

// nowData is what the view of now shows.
type nowData struct {
	Holds  string // what the names of the servers and sessions that are shown hold; "": anything
	Cut    bool   // some are not shown
	Hubs   []nowHub
	Silent []string
	Curves []curve
	Since  time.Time // of the curves; zero: they do not run
	Wrong  string    // with the curves
	Record string
}

type nowHub struct {
	admin.Report
	Servers                   []nowServer
	Sessions                  []status.Session
	MoreServers, MoreSessions int // that are not shown
}

type nowServer struct {
	status.Child
	standing
	Memory int64 // of its processes
}

func (s *Server) nowPage(r *http.Request) page {
	return page{View: "/now", Live: true, Data: s.lookNow(r.Context(), strings.TrimSpace(r.PostForm.Get("holds")))}
}

func (s *Server) lookNow(ctx context.Context, holds string) nowData {
	reports, silent := s.cfg.Hubs(ctx)
	d := nowData{Holds: holds, Silent: silent, Record: s.cfg.Record}
	most := max(fewestRows, maxRows/max(1, len(reports)))
	var pids []int
	now := time.Now()
	for _, report := range reports {
		h := nowHub{Report: report}
		var children []status.Child
		children, h.MoreServers = firstOf(most, report.Children, inTrouble, func(c *status.Child) bool { return strings.Contains(c.Server, holds) })
		h.Sessions, h.MoreSessions = firstOf(most, report.Sessions, isWaiting, func(s *status.Session) bool {
			return slices.ContainsFunc([]string{s.ID, s.Client, s.Principal, s.Folder}, func(name string) bool { return strings.Contains(name, holds) })
		})
		for _, c := range children {
			h.Servers = append(h.Servers, nowServer{Child: c, standing: standingOf(&c, Asks(report.Sessions, c.Server), now, func(words ...string) string { return s.cfg.Command(report.Config.Path, words...) })})
			if c.PID > 0 {
				pids = append(pids, c.PID)
			}
		}
		d.Cut = d.Cut || h.MoreServers+h.MoreSessions > 0
		d.Hubs = append(d.Hubs, h)
	}
	memory := memoryOf(pids)
	for _, h := range d.Hubs {
		for i := range h.Servers {
			h.Servers[i].Memory = memory[h.Servers[i].PID]
		}
	}
	d.Curves, d.Since, d.Wrong = s.traffic.drawCurves(now)
	return d
}

// firstOf returns the first of all that are like what is looked for, most at most, and how many others there are. Where
// not all are shown, the urgent ones come first.
func firstOf[T any](most int, all []T, urgent, like func(*T) bool) (shown []T, others int) {
	var rest []T
	for i := range all {
		if like(&all[i]) {
			if urgent(&all[i]) {
				shown = append(shown, all[i])
			} else {
				rest = append(rest, all[i])
			}
		}
	}
	if len(shown)+len(rest) == len(all) && len(all) <= most {
		return all, 0
	}
	shown = append(shown, rest...)
	shown = shown[:min(most, len(shown))]
	return shown, len(all) - len(shown)
}

// Asks returns how many calls of a server wait for a person.
func Asks(sessions []status.Session, server string) (n int) {
	for i := range sessions {
		for _, q := range sessions[i].Report.Questions {
			if q.Server == server {
				n++
			}
		}
	}
	return n
}

func inTrouble(c *status.Child) bool { return c.Error != "" || c.CircuitOpen || c.Refused > 0 }

func isWaiting(s *status.Session) bool { return len(s.Report.Questions) > 0 }

// restart and reload do what a person has clicked, and show how things are then.

func (s *Server) restartPage(r *http.Request) page {
	said, err := s.cfg.Restart(r.Context(), r.PostForm.Get("hub"), r.PostForm.Get("server"))
	p := s.nowPage(r)
	p.Notice = said
	if err != nil {
		p.Notice = r.PostForm.Get("server") + " was not restarted: " + err.Error()
	}
	return p
}

func (s *Server) reloadPage(r *http.Request) page {
	err := s.cfg.Reload(r.Context(), r.PostForm.Get("hub"))
	p := s.nowPage(r)
	p.Notice = "hub.json was read again"
	if err != nil {
		p.Notice = "the former configuration stays in force: " + err.Error()
	}
	return p
}

func (s *Server) configurationPage(r *http.Request) page {
	brief := r.Header.Get(partHeader) == partBrief
	return page{View: "/configuration", More: brief, Data: s.cfg.File(r.Context(), brief)}
}

// errLooks is what a person is told if a page may answer and allow nothing.
var errLooks = errors.New("this page was loaded again, so it only shows; end the console and start it again to answer and to allow on it")

// questionsData is what the view of questions shows.
type questionsData struct {
	All    []Question
	More   int // that wait too, and are not shown
	Silent []string
	Looks  string // why the page answers nothing; "": it does
}

func (s *Server) questionsPage(r *http.Request) page {
	all, silent := s.cfg.Questions(r.Context())
	d := questionsData{All: all[:min(maxRows, len(all))], Silent: silent}
	d.More = len(all) - len(d.All)
	if !s.guard.mayAnswer(r) {
		d.Looks = errLooks.Error()
		for i := range all {
			all[i].Hub, all[i].ID, all[i].Digest, all[i].Choices = "", "", "", nil
		}
	}
	return page{View: "/questions", Live: true, Data: d}
}

// answerPage passes on what a person has clicked, with the digest of what they saw: a question that
// has changed meanwhile takes no answer.
func (s *Server) answerPage(r *http.Request) page {
	if !s.guard.mayAnswer(r) {
		p := s.questionsPage(r)
		p.Notice = "That answer does not count: " + errLooks.Error()
		return p
	}
	a := Answer{Hub: r.PostForm.Get("hub"), ID: r.PostForm.Get("id"), Digest: r.PostForm.Get("digest"), Decision: r.PostForm.Get("decision")}
	err := s.cfg.Answer(r.Context(), a)
	p := s.questionsPage(r)
	p.Notice = "Allowed: " + a.Decision + "."
	switch {
	case err != nil:
		p.Notice = "That answer does not count: " + err.Error()
	case a.Decision == "deny":
		p.Notice = "Denied."
	}
	return p
}

// InstanceText names what an instance serves, if it is one of several.
func (n nowServer) InstanceText() string {
	switch {
	case len(n.Sessions) > 1:
		return strconv.Itoa(len(n.Sessions)) + " sessions"
	case n.Instance != "":
		return n.Instance[:min(8, len(n.Instance))]
	}
	return ""
}
