package call

import (
	"context"
	"slices"
	"strings"

	"mcphub/children/offers"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/offering"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// CalledTool returns the tool that a call is of, nil if it is none, or the
// server has not listed it yet.
func (s *Sender) CalledTool(m *jsonrpc.Message) *catalog.Tool {
	if m.Method != methods.CallTool {
		return nil
	}
	name, _ := jsonrpc.String(m.Param("name"))
	return s.Offering.Catalog().Tool(name)
}

// possibleOwners returns the children to which an unknown name may belong, without the ones that are denied.
func (s *Sender) possibleOwners(name string) []string {
	conf := s.Current.InForce()
	return slices.DeleteFunc(conf.CatalogBuilder.Owners(name), conf.IsDenied)
}

// mayHaveMore reports whether a child may have what the catalogue does not: its list cannot be read, or the rules deny the child, and then
// the denial of a name reports why.
func (s *Sender) mayHaveMore(conf *configuration.Configuration, child string, k offers.ListKind) bool {
	return conf.IsDenied(child) || s.Offering.IsUnread(child, k)
}

// splitUnlisted splits a name into a child that may have more of a kind, and the child's own name.
func (s *Sender) splitUnlisted(conf *configuration.Configuration, name string, k offers.ListKind) (child, ownName string, ok bool) {
	child, ownName, ok = conf.CatalogBuilder.Prefixed(name, func(child string) bool { return s.mayHaveMore(conf, child, k) })
	if ok && k == offers.Tools {
		ownName, ok = conf.CatalogBuilder.OwnName(child, ownName)
	}
	return child, ownName, ok
}

// unlistedTool makes a tool of its name alone, if its child may have more. Calls of it are judged as the ones of a tool without a schema.
func (s *Sender) unlistedTool(child, ownName string) (t offering.Tool) {
	if conf := s.Current.InForce(); s.mayHaveMore(conf, child, offers.Tools) {
		t = offering.Tool{Tool: conf.CatalogBuilder.Unlisted(child, ownName), Conf: conf}
	}
	return t
}

// FindTool finds a tool by its name towards the client. A name that may belong
// to a child which has not listed its tools yet waits for that child. A tool of a child that
// may have more is found by its prefix alone.
func (s *Sender) FindTool(ctx context.Context, name string) (t offering.Tool, refusal jsonrpc.Answer) {
	find := func() bool { t = s.Offering.Catalog().Named(name); return t.Tool != nil }
	owners := func() []string { return s.possibleOwners(name) }
	found, down := s.awaitListed(ctx, owners, find)
	switch {
	case found:
		return t, jsonrpc.Answer{}
	case ctx.Err() != nil:
		return offering.Tool{}, failure.AnswerEnded(ctx, nil)
	}
	l := s.Offering.Catalog()
	switch appTools := l.AppTools(name); {
	case len(appTools) == 1:
		return offering.Tool{Tool: appTools[0], Conf: l.Conf}, jsonrpc.Answer{}
	case len(appTools) > 1:
		names := make([]string, len(appTools))
		for i, t := range appTools {
			names[i] = t.Name
		}
		return offering.Tool{}, jsonrpc.RefuseParams(texts.AmbiguousTool(name, names))
	case down != "":
		return offering.Tool{}, failure.ToolError(down)
	}
	conf := s.Current.InForce()
	if child, ownName, isUnlisted := s.splitUnlisted(conf, name, offers.Tools); isUnlisted {
		if t := conf.CatalogBuilder.Unlisted(child, ownName); t != nil {
			return offering.Tool{Tool: t, Conf: conf}, jsonrpc.Answer{}
		}
	}
	for _, b := range conf.Broken {
		if b.Prefix != "" && strings.HasPrefix(name, b.Prefix) {
			return offering.Tool{}, failure.Broken(b)
		}
	}
	return offering.Tool{}, jsonrpc.RefuseParams(failure.UnknownTool(name, s.Offering.Catalog(), owners()))
}
