package main

import (
	"cmp"
	"fmt"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
)

// This file names the clients that share a hub.

// clientText returns the client of a session in words; "" if it is not known.
func clientText(c audit.ClientInfo) string {
	if c == (audit.ClientInfo{}) {
		return ""
	}
	return cmp.Or(printable.Escape(c.Name, 60), "a client") + layout.WithPrefix(" from ", printable.Escape(c.Address, 50)) + layout.WithPrefix(" in ", printable.Escape(c.Folder, 300)) + layout.When(c.Process != 0, fmt.Sprintf(", process %d", c.Process))
}

// sharedClient returns the client of a decision as people are told it: one that has a hub alone is not named.
func sharedClient(e *trail.Event) audit.ClientInfo {
	if e.ClientInfo == (audit.ClientInfo{Name: e.Name}) {
		return audit.ClientInfo{}
	}
	return e.ClientInfo
}

// principalText names a principal; "" for the user of this machine, who is not named to people.
func principalText(name string) string {
	if name == principal.Local {
		return ""
	}
	return printable.Escape(name, 100)
}

// clientsOf returns the clients of the sessions of a hub that clients share; none of another.
func clientsOf(r *admin.Report) trail.Clients {
	all := trail.Clients{}
	for i := range r.Sessions {
		if s := &r.Sessions[i]; s.Folder != "" || s.Process != 0 {
			all[s.ID] = audit.ClientInfo{Name: s.Client, Folder: s.Folder, Process: s.Process, Adapter: s.Adapter}
		}
	}
	return all
}

// namedSession is a session and its client, in the JSON of restart.
type namedSession struct {
	ID string `json:"id"`
	audit.ClientInfo
}
