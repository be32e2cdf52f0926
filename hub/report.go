package hub

import (
	"cmp"
	"context"
	"slices"

	"mcphub/children/spec"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/status"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
)

// This file gathers what package status makes its reports of.

// Status returns how the hub stands. It may be called at any time.
func (h *Hub) Status() status.Hub {
	conf := h.currentConfiguration()
	sessions, offers := h.sessions.Sessions(), h.sessions.Offers()
	serves := func(spec.Key) []string { return nil }
	if slices.ContainsFunc(sessions, func(s *Session) bool { return s.attachment != nil }) { // else no one is looked for in vain
		serves = h.attachedSessions
	}
	st := status.Hub{
		Children:  status.Children(everyChild(conf, sessions), h.sup.Status(), offers, conf.Environ, serves),
		NotServed: status.NotServedBy(conf), Sessions: []status.Session{}, Redefined: h.redefined.List(),
		Audit: conf.Audit.Status(), Policy: status.PolicyOf(conf.Checker), Refusals: h.recent.List(), Extensions: status.ExtensionsOf(conf.CatalogBuilder.Extensions(offers)),
	}
	st.NotServed = slices.DeleteFunc(st.NotServed, func(n status.NotServed) bool { // it is, in the surroundings of some
		return slices.ContainsFunc(sessions, func(s *Session) bool { return s.currentConfiguration().Child(n.Server) != nil })
	})
	for _, s := range sessions {
		st.Sessions = append(st.Sessions, s.reportStatus(st.NotServed))
	}
	slices.SortFunc(st.Sessions, func(a, b status.Session) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return st
}

// Tools returns the tools that the servers have listed. It may be called at any time.
func (h *Hub) Tools() []status.ServerTools { return status.ServerToolsOf(h.sessions.Offers()) }

// everyChild returns the children of the hub's own surroundings, and the ones that only sessions in others have.
func everyChild(conf *configuration.Configuration, sessions []*Session) []Child {
	found := conf.Children
	for _, s := range sessions {
		if s.attachment == nil {
			continue
		}
		for _, child := range s.currentConfiguration().Children {
			if !slices.ContainsFunc(found, func(o Child) bool { return o.Spec.Name == child.Spec.Name }) {
				found = append(slices.Clip(found), child)
			}
		}
	}
	return found
}

// reportStatus reports a session. no one are the entries that no session is served.
func (s *Session) reportStatus(nobody []status.NotServed) status.Session {
	caps := s.clientClaims()
	st := status.Session{
		ID: s.id, Since: s.since, Principal: s.principal.String(), Client: s.clientName(), Protocol: caps.Protocol, Calls: s.mainMessenger.Serving(), Passed: s.sender.InFlight.Started(), Toolsets: s.currentConfiguration().ToolsetView().Names(),
		SessionRoots: status.SessionRootsOf(s.roots.RootsView(), s.roots.Word()), Report: s.approvals.Report(),
	}
	if s.attachment == nil {
		return st
	}
	a := s.attachment.Surroundings
	st.Folder, st.Process, st.Adapter = printable.Escape(a.Dir, longestFolder), a.Client.PID, a.Adapter.PID
	for _, n := range status.NotServedBy(s.currentConfiguration()) {
		if !slices.Contains(nobody, n) {
			st.NotServed = append(st.NotServed, n)
		}
	}
	return st
}

// rootsReport returns how the roots stand for the request of ctx: in the modern
// era the ones that came with it.
func (s *Session) rootsReport(ctx context.Context) status.Roots {
	c, conf := s.sender.ClientOf(ctx), s.currentConfiguration()
	rootsView, word, _ := c.RootsStatus(ctx) // ownTool has seen to it that there is one
	r := status.RootsOf(rootsView, word, c.Claims(), c.Era(), conf)
	r.Config, r.Report, r.Redefined = s.hub.ConfigState(), s.approvals.Report(), s.hub.redefined.VisibleTo(s.id)
	if !s.principal.Local || conf.ToolsetView() != nil {
		r.HideOperator(conf.ServedNames())
	}
	if conf.ToolsetView() != nil {
		r.Redefined = slices.DeleteFunc(r.Redefined, func(d catalog.Redefinition) bool { return !conf.ToolsetView().ShowsTool(d.Server, d.Tool) })
	}
	r.Extensions = status.ExtensionsOf(s.Catalog().Extensions())
	for _, name := range conf.ServedNames() {
		r.Children = append(r.Children, s.childRoots(conf, name, rootsView))
	}
	return r
}

func (s *Session) childRoots(conf *configuration.Configuration, name string, rootsView rootsmgr.RootsView) status.ChildRoots {
	child, r := conf.Child(name), status.ChildRootsOf(conf.Child(name), s.ChildStatus(name))
	r.Sessions = s.hub.sessions.SessionCount(s.assignedSession.Assignments().Key(name))
	if child.Spec.Share == spec.ShareAll || len(child.Roots) > 0 || len(conf.ExtraDirectories(name, nil)) > 0 {
		for _, root := range s.assignedSession.RootsFor(conf, child, rootsView) {
			r.Served = append(r.Served, root.URI)
		}
	}
	return r
}

func (s *Session) serversReport(only string) status.Servers {
	c := s.Catalog()
	return status.ServersOf(c.Catalog, c.Conf, only, s.ChildStatus, s.sender.StderrOf)
}
