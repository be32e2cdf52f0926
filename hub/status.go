package hub

import (
	"encoding/json"
	"strings"

	"mcphub/children"
)

// This file says how things stand: what get-roots and list-tools answer.

type rootReport struct {
	URI   string `json:"uri"`
	Name  string `json:"name,omitempty"`
	Flag  string `json:"flag,omitempty"`
	Below bool   `json:"redundant,omitempty"`
}

type skippedReport struct {
	Raw    string `json:"raw"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
}

// rootsReport is the answer of get-roots (H2). The first five members are the
// ones that its first users know; the others came later.
type rootsReport struct {
	SupportsRoots    bool            `json:"supportsRoots"`
	RootsListChanged bool            `json:"rootsListChanged"`
	RootsCount       int             `json:"rootsCount"`
	Roots            []rootReport    `json:"roots"`
	FilePaths        []string        `json:"filePaths"`
	State            string          `json:"state"`
	Origin           string          `json:"origin"`
	Generation       uint64          `json:"generation"`
	Stale            bool            `json:"stale"`
	Era              string          `json:"era"`
	Protocol         string          `json:"protocolVersion,omitempty"`
	Client           string          `json:"client,omitempty"`
	OutsideAllowed   bool            `json:"outsideAllowed"`
	Meaning          string          `json:"meaning,omitempty"`
	Skipped          []skippedReport `json:"skipped,omitempty"`
	LastError        string          `json:"lastError,omitempty"`
	Children         []childRoots    `json:"children"`
}

// childRoots is how one child stands to the roots, and who shares its process.
type childRoots struct {
	Server   string   `json:"server"`
	State    string   `json:"state"`
	Asked    bool     `json:"asked"` // it has asked for the roots
	Cwd      string   `json:"cwd,omitempty"`
	Share    string   `json:"share"`            // session, roots or all
	Sessions int      `json:"sessions"`         // that this process serves, this one among them
	Served   []string `json:"served,omitempty"` // the roots that it is served where they are not the session's
}

func (s *Session) rootsReport() rootsReport {
	view, st, caps := s.roots.View(), s.roots.State(), s.capabilities()
	snap := view.Snapshot
	r := rootsReport{
		SupportsRoots: caps.roots, RootsListChanged: caps.rootsChange,
		Roots: []rootReport{}, FilePaths: []string{}, Children: []childRoots{},
		State: st.Word, Origin: snap.Origin().String(), Generation: snap.Generation(), Stale: view.Stale,
		Era: "handshake", Protocol: caps.protocol, Client: strings.TrimSpace(caps.name + " " + caps.version),
		OutsideAllowed: view.Open, Meaning: view.Why(),
	}
	for _, root := range snap.Roots() {
		r.Roots = append(r.Roots, rootReport{URI: root.URI, Name: root.Name, Flag: root.Flag, Below: root.Redundant})
		r.FilePaths = append(r.FilePaths, root.Path)
	}
	r.RootsCount = len(r.Roots)
	for _, sk := range snap.Skipped() {
		r.Skipped = append(r.Skipped, skippedReport{shown(sk.Raw, 200), shown(sk.Name, 100), sk.Reason})
	}
	if view.Err != nil {
		r.LastError = view.Err.Error()
	}
	for _, name := range s.hub.names() {
		r.Children = append(r.Children, s.childRoots(name))
	}
	return r
}

func (s *Session) childRoots(name string) childRoots {
	st, _, _, _ := s.childStatus(name)
	share := s.hub.byName[name].Spec.Share
	r := childRoots{
		Server: name, State: st.State.String(), Asked: st.AskedRoots, Cwd: st.Cwd,
		Share: share.String(), Sessions: s.hub.sharing(s.seats.Load().by[name].key),
	}
	if share == children.ShareAll {
		for _, root := range s.hub.common() {
			r.Served = append(r.Served, root.URI)
		}
	}
	return r
}

// serverReport is one server as list-tools shows it.
type serverReport struct {
	Name       string         `json:"name"`
	State      string         `json:"state"`
	Share      string         `json:"share,omitempty"` // who shares its process: session, roots or all
	Error      string         `json:"error,omitempty"`
	Stderr     string         `json:"stderr,omitempty"`
	Restarts   int            `json:"restarts,omitempty"`
	Tools      []toolReport   `json:"tools"`
	NotOffered []oddityReport `json:"notOffered,omitempty"`
}

type toolReport struct {
	Name        string `json:"name"`     // towards the client
	ToolName    string `json:"toolName"` // the child's own, for call-tool
	Description string `json:"description,omitempty"`
}

type oddityReport struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

type serversReport struct {
	Servers []serverReport `json:"servers"`
}

func (s *Session) serversReport(only string) serversReport {
	out := serversReport{Servers: []serverReport{}}
	c := s.catalog.Load()
	for _, name := range s.hub.names() {
		if only != "" && only != name {
			continue
		}
		st, _, _, _ := s.childStatus(name)
		r := serverReport{Name: name, State: st.State.String(), Share: s.hub.byName[name].Spec.Share.String(), Error: st.Err, Restarts: st.Restarts, Tools: []toolReport{}}
		if st.State != children.Ready {
			r.Stderr = st.Stderr
		}
		for _, o := range c.tools {
			if o.child == name {
				r.Tools = append(r.Tools, toolReport{Name: o.name, ToolName: o.remote, Description: o.description()})
			}
		}
		for _, odd := range c.odd[name] {
			r.NotOffered = append(r.NotOffered, oddityReport{shown(odd.Tool, 100), odd.Reason})
		}
		out.Servers = append(out.Servers, r)
	}
	for _, b := range s.hub.cfg.Broken {
		if only == "" || only == b.Name {
			out.Servers = append(out.Servers, serverReport{Name: b.Name, State: "not configured", Error: b.Reason, Tools: []toolReport{}})
		}
	}
	return out
}

func (o *offered) description() string {
	var d struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal(o.def, &d) // an odd description is shown as none
	return shown(d.Description, 300)
}
