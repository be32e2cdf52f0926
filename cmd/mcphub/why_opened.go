package main

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"mcphub/children/hints"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/replay"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/policy"
)

// An opened knows what hub.json opens now.
type opened struct {
	made    setup.Result
	held    map[string]*hints.Reader // what the kernel would hold a server to, by its name and its roots
	usable  bool                     // hub.json can be used: else nothing is known
	servers map[string]*spec.Spec
}

// maxHeld is how many confinements an opened remembers.
const maxHeld = 1024

// openedNow reads what hub.json opens.
func openedNow(src *setup.Source, file *config.File) *opened {
	o := &opened{held: map[string]*hints.Reader{}, servers: map[string]*spec.Spec{}}
	made, err := (&setup.Source{Version: buildVersion(), Config: src.Config}).Build(file, io.Discard, zerolog.Nop())
	if err != nil || made.Hub.Checker == nil {
		return o
	}
	o.made, o.usable = made, true
	for i := range made.Hub.Children {
		s := &made.Hub.Children[i].Spec
		o.servers[s.Name] = s
	}
	return o
}

// opensNow reports whether what was refused would not be refused now.
func (o *opened) opensNow(r *audit.Refusal) bool {
	s := o.servers[r.Server]
	switch {
	case !o.usable || s == nil:
		return false
	case r.By == audit.ByMonitor:
		return r.Path != "" && o.allowsNow(r)
	case !s.Sandbox.Confines():
		return true
	}
	held := o.confinementOf(s, r.Within)
	f := refusedByKernel(r)
	switch {
	case held == nil || f.KeepsRunning:
		return false
	case f.Sockets:
		return held.Profile.Sockets
	case f.Path == "":
		return false
	case strings.HasSuffix(f.Opens, string(filepath.Separator)): // a folder: what is made in it has to be open, too
		f.Path = filepath.Join(f.Opens, "x")
	case f.Opens != "":
		f.Path = f.Opens
	case f.Access&sandbox.Write != 0: // it may be about a file beside it
		f.Path = filepath.Dir(f.Path)
	}
	_, closed := held.Closes(f.Path, f.Access)
	return !closed
}

// allowsNow reports whether a rule of the policy allows now what the monitor has denied.
func (o *opened) allowsNow(r *audit.Refusal) bool {
	info, _ := o.made.Hub.Checker.Policy()
	rec := audit.Record{Principal: r.Principal, DecisionFields: audit.DecisionFields{
		Child: r.Server, Tool: r.Tool, Decision: policy.Deny.String(), Rule: r.Rule, Code: r.Code, Findings: []audit.Finding{{At: r.At, Role: r.Role, Path: r.Path}},
	}}
	return replay.Judge(&info, &trail.Decision{Event: trail.Event{Record: rec}}).Decision == policy.Allow
}

// confinementOf returns what the kernel would hold a server to, in a session with these roots.
func (o *opened) confinementOf(s *spec.Spec, roots []string) *hints.Reader {
	key := s.Name + "\x00" + strings.Join(roots, "\x00")
	held, known := o.held[key]
	if !known {
		if len(o.held) > maxHeld {
			clear(o.held)
		}
		entries := make([]rootsmgr.RootEntry, len(roots))
		for i, dir := range roots {
			entries[i] = rootsmgr.RootEntry{URI: dir}
		}
		held = o.made.Hub.Host().Confinement(*s, rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginConfig, entries).Roots())
		o.held[key] = held
	}
	return held
}

// namedFolder returns the folder that the entry of a server names and the refused path lies in; "" for none.
func (o *opened) namedFolder(r *audit.Refusal) string {
	s := o.servers[r.Server]
	if s == nil || r.Path == "" {
		return ""
	}
	name, _ := s.Program().NameOf(r.Path, o.made.Hub.Home)
	if !sandbox.IsDir(name) {
		return ""
	}
	return name
}
