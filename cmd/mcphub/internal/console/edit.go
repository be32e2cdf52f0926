package console

import (
	"context"
	"net/http"
	"strings"
)

// What an Edit does.
const (
	DoAllow   = "allow"   // open a path to a server
	DoEnable  = "enable"  // serve a server, or offer a tool of it
	DoDisable = "disable" // the opposite
	DoAdd     = "add"     // add a server
)

// The origins of a server that is added.
const (
	FromRegistry = "registry" // Text is its name there
	FromCommand  = "command"  // Text is its command line, or its address
	FromEntry    = "entry"    // Text is JSON, as manuals of servers have it
)

// An Edit is a change of hub.json that a person asks for. The zero Edit is none.
type Edit struct {
	Do        string
	Allowance        // of DoAllow; its Server counts for each Edit
	Tool      string // of DoEnable and DoDisable, as the server calls it; "": the server itself
	From      string // of DoAdd
	Text      string
	Set       string // of DoAdd: a variable or a header in each line, as NAME=VALUE
}

// Heading returns what the page of the change is called.
func (e *Edit) Heading() string {
	switch what := e.Server; {
	case e.Do == DoAllow:
		return "Allow a path"
	case e.Do == DoAdd:
		return "Add a server"
	default:
		if e.Tool != "" {
			what = e.Tool + " of " + what
		}
		if e.Do == DoEnable {
			return "Switch on " + what
		}
		return "Switch off " + what
	}
}

// mayEdit returns why a request may not have hub.json changed.
func (s *Server) mayEdit(r *http.Request) error {
	if !s.guard.mayAnswer(r) {
		return errLooks
	}
	return s.cfg.MayEdit()
}

func editIn(r *http.Request) Edit {
	f := r.PostForm.Get
	return Edit{
		Do: f("do"), Allowance: Allowance{Server: strings.TrimSpace(f("server")), Path: f("path"), Write: f("write") != "", Calls: f("calls") != ""},
		Tool: f("tool"), From: f("from"), Text: strings.TrimSpace(f("text")), Set: strings.TrimSpace(f("set")),
	}
}

// showChange shows what would be written, and writes and starts nothing.
func (s *Server) showChange(r *http.Request) page { return s.showEdit(r, s.cfg.Change) }

// tryChange starts once what a person has been shown, by its digest, and shows what came of it. It writes nothing.
func (s *Server) tryChange(r *http.Request) page {
	return s.showEdit(r, func(ctx context.Context, e Edit) (Change, error) { return s.cfg.Try(ctx, e, r.PostForm.Get("digest")) })
}

func (s *Server) showEdit(r *http.Request, make func(context.Context, Edit) (Change, error)) page {
	e := editIn(r)
	if err := s.mayEdit(r); err != nil {
		return s.notEdited(r, &e, err)
	}
	c, err := make(r.Context(), e)
	if err != nil {
		return s.notEdited(r, &e, err)
	}
	return page{View: viewOf(&e), Data: changeData{Change: &c}}
}

// writeChange writes what a person has been shown, by its digest. Then it shows the view from which they came.
func (s *Server) writeChange(r *http.Request) page {
	e := editIn(r)
	if err := s.mayEdit(r); err != nil {
		return s.notEdited(r, &e, err)
	}
	said, err := s.cfg.Write(r.Context(), e, r.PostForm.Get("digest"))
	if err != nil {
		return s.notEdited(r, &e, err)
	}
	return s.pageAfter(r, &e, "Written. "+said)
}

func (s *Server) notEdited(r *http.Request, e *Edit, why error) page {
	return s.pageAfter(r, e, "hub.json is not changed: "+why.Error())
}

// pageAfter returns the view of an edit, with a notice. A form that a person has filled in stays filled in.
func (s *Server) pageAfter(r *http.Request, e *Edit, notice string) page {
	var p page
	if viewOf(e) == "/decisions" {
		p = s.decisionsPage(r)
	} else {
		p = s.serversPage(r)
	}
	p.Notice = notice
	return p
}

func viewOf(e *Edit) string {
	if e.Do == DoAllow {
		return "/decisions"
	}
	return "/servers"
}

// changeData shows a change instead of the view.
type changeData struct{ Change *Change }

// DiffClass returns how a line of a diff is coloured; its first character says the same.
func (c *Change) DiffClass(line string) string {
	switch line[:min(1, len(line))] {
	case "+":
		return "good"
	case "-":
		return "bad"
	}
	return "quiet"
}

// An adding is the form of one way to add a server.
type adding struct {
	Edit
	Session, Title string
}

// addingOf returns the form of a way, with what a person has filled in before.
func addingOf(session string, e Edit, from string) adding {
	if e.Do != DoAdd || e.From != from {
		e = Edit{From: from}
	}
	if from == FromEntry {
		return adding{e, session, "Add by an entry"}
	}
	return adding{e, session, "Add by a command line"}
}
