package console

import (
	"net/http"
	"strings"
	"time"

	"mcphub/hub/status"
)

// maxLiveTools is how many tools the view of servers has at most that is asked for again by itself.
const maxLiveTools = 300

// serversData is what the view of servers shows.
type serversData struct {
	Entries
	All   []server
	Edit  Edit   // what was filled in
	Looks string // why the page changes nothing; "": it does
	Words string // that were looked for in the registry
	Found []Found
	More  bool   // the registry has others
	Lost  string // why nothing was found
	Asked bool   // the registry was
}

// A server is one entry, with its instances.
type server struct {
	Entry
	standing
	Instances []instance
}

// An instance is one that runs, or that starts when it is asked for.
type instance struct {
	Instance
	standing
}

func (s *Server) serversPage(r *http.Request) page {
	d := serversData{Entries: s.cfg.Servers(r.Context()), Edit: editIn(r)}
	if err := s.mayEdit(r); err != nil {
		d.Looks = err.Error()
	}
	if d.Edit.From == FromRegistry {
		d.Words = d.Edit.Text
	}
	tools := 0
	for _, e := range d.Servers {
		one := server{Entry: e, standing: e.standingOf(d.Hubs, d.commandLine(s))}
		for i := range e.Instances {
			c := e.Instances[i]
			one.Instances = append(one.Instances, instance{c, standingOf(&c.Child, e.Asks, time.Now(), d.commandLine(s))})
		}
		if len(one.Instances) > 0 {
			one.standing = one.Instances[0].standing
		}
		if e.Tools != nil {
			tools += len(e.Tools.Tools)
		}
		d.All = append(d.All, one)
	}
	return page{View: "/servers", Live: tools <= maxLiveTools, Data: d}
}

// commandLine makes command lines about the file of these entries.
func (d *Entries) commandLine(s *Server) func(words ...string) string {
	return func(words ...string) string { return s.cfg.Command(d.File, words...) }
}

// standingOf returns how an entry stands that has no instance.
func (e *Entry) standingOf(hubs int, command func(words ...string) string) standing {
	switch {
	case e.Disabled:
		return standing{Word: "switched off", Text: "No client is offered it. Switch it on to serve it."}
	case e.Wrong != "":
		return standing{Word: "cannot be served", Text: strings.TrimSuffix(e.Wrong, ".") + ". Mend its entry in hub.json; the command shows the line.", Command: command("validate")}
	case hubs == 0:
		return standing{Word: "no hub runs", Text: "It starts when a client starts the hub: open one."}
	}
	return standing{Word: "not taken yet", Text: "The hub has not taken this entry: see what waits under Questions, or have it read hub.json again under Now."}
}

// findPage searches the registry.
func (s *Server) findPage(r *http.Request) page {
	p := s.serversPage(r)
	d := p.Data.(serversData)
	d.Asked, p.Live = true, false
	var err error
	if d.Found, d.More, err = s.cfg.Find(r.Context(), d.Words); err != nil {
		d.Lost = err.Error()
	}
	p.Data = d
	return p
}

// Offered returns the tools that clients are offered.
func (s *server) Offered() []status.OfferedTool {
	if s.Tools == nil {
		return nil
	}
	return s.Tools.Tools
}

// Hidden returns the tools that hub.json holds back.
func (s *server) Hidden() []string {
	if s.Tools == nil {
		return nil
	}
	return s.Tools.Hidden
}
