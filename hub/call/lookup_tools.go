package call

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mcphub/children/offers"
	"mcphub/hub/catalog"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/offering"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
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

// ToolCallTool is the hub's own tool that calls another tool.
const ToolCallTool = "call-tool"

// serveHubTool serves one of the hub's own tools. call-tool carries another call
// inside it, whose bytes stay raw. Its error is the error of Call.JudgeAndSend.
func (s *Sender) serveHubTool(ctx context.Context, tool offering.Tool, m *jsonrpc.Message) (jsonrpc.Answer, error) {
	if tool.OwnName != ToolCallTool {
		client.RequestOf(ctx).Record.SetOwnTool(tool.OwnName)
		return s.ServeHubTool(ctx, tool.OwnName, m), nil
	}
	args := m.Param("arguments")
	child, ok := jsonrpc.GetString(args, "serverName")
	if !ok {
		return failure.ToolError(texts.LacksArgument(ToolCallTool, "serverName", "the name of a server") + " Servers: " + printable.List(s.Current.InForce().ServedNames())), nil
	}
	ownName, ok := jsonrpc.GetString(args, "toolName")
	if !ok {
		return failure.ToolError(texts.LacksArgument(ToolCallTool, "toolName", "the tool's own name")), nil
	}
	inner := jsonrpc.Get(args, "toolArgs")
	if c := s.Current.InForce().Child(child); c == nil {
		return s.noServer(child), nil
	}
	target, refusal := s.findByOwnName(ctx, child, ownName)
	if target.Tool == nil {
		return refusal, nil
	}
	inner, setArgumentErr := target.WithSet(inner)
	call := &Call{sender: s, target: &toolTarget{listed: target, args: inner, setArgumentErr: setArgumentErr, argumentsPointer: "/toolArgs"}, progressToken: progressTokenOf(m), splicing: splicingOf(m, nil, "")}
	call.buildParams = func(own []byte, edits []jsonrpc.Edit) [][]byte {
		parts := [][]byte{jsonrpc.AppendString([]byte(`{"name":`), target.OwnName)}
		if inner != nil {
			parts = append(append(parts, []byte(`,"arguments":`)), jsonrpc.Splice(inner, edits...)...)
		}
		if meta := call.splicing.carrier.Meta(call.progressToken, own, call.splicing.traceForChild); meta != nil {
			parts = append(parts, []byte(`,"_meta":`), meta)
		}
		return append(parts, []byte(`}`))
	}
	return call.JudgeAndSend(ctx)
}

// noServer returns why a name is not a server that can be called.
func (s *Sender) noServer(name string) jsonrpc.Answer {
	if b := s.Current.InForce().BrokenEntry(name); b != nil {
		return failure.Broken(*b)
	}
	return failure.ToolError(texts.NoServer(name, s.Current.InForce().ServedNames()))
}

// findByOwnName finds a tool by its child and the name that clients know as its own. The server's own name of a tool that hub.json renames
// finds it as well, unless another one is called so.
func (s *Sender) findByOwnName(ctx context.Context, child, name string) (t offering.Tool, refusal jsonrpc.Answer) {
	ownName := name
	if own, ok := s.Current.InForce().CatalogBuilder.OwnName(child, name); ok {
		ownName = own
	}
	if s.Current.InForce().IsDenied(child) {
		if t := s.unlistedTool(child, ownName); t.Tool != nil {
			return t, jsonrpc.Answer{}
		}
		return offering.Tool{}, s.noServer(child)
	}
	find := func() bool {
		list := s.Offering.Catalog()
		if t = list.OfChild(child, ownName); t.Tool == nil {
			t = list.OfChild(child, name)
		}
		return t.Tool != nil
	}
	found, down := s.awaitListed(ctx, func() []string { return []string{child} }, find)
	switch {
	case found:
		return t, jsonrpc.Answer{}
	case ctx.Err() != nil:
		return offering.Tool{}, failure.AnswerEnded(ctx, nil)
	case down != "":
		return offering.Tool{}, failure.ToolError(down)
	}
	if t := s.unlistedTool(child, ownName); t.Tool != nil {
		return t, jsonrpc.Answer{}
	}
	return offering.Tool{}, failure.NoTool(child, name, s.Offering.Catalog())
}

// awaitListed has the children to which something may belong report what they offer,
// the quick ways first, until it is found. down says about a child that cannot be
// asked why; "" where none is. ctx reports whether the caller still waits.
func (s *Sender) awaitListed(ctx context.Context, candidates func() []string, found func() bool) (ok bool, down string) {
	if found() {
		return true, ""
	}
	s.Offering.AwaitRecalled(ctx)
	if found() {
		return true, ""
	}
	back := s.ClientOf(ctx).AllowHubQuestions() // what the children wait for may be the roots
	owners, failures := candidates(), map[string]int{}
	for _, owner := range owners {
		failures[owner] = s.Offering.ChildStatus(owner).Failures
	}
	s.awaitStart(ctx, owners)
	back()
	if found() {
		return true, ""
	}
	for _, owner := range owners {
		if st := s.Offering.ChildStatus(owner); !st.Listed && st.Failures > failures[owner] && !(st.AsksLogin && client.RequestOf(ctx).OffersLogin) {
			return false, failure.NotReady(st, s.StderrOf(st)) // it has had its time to start
		}
		if down := s.reviveChild(ctx, owner); down != "" || ctx.Err() != nil {
			return false, down
		}
		if found() {
			return true, ""
		}
	}
	return false, ""
}

// reviveChild sees to it that a child which has not listed its tools in this
// session is started, or tried again, now that someone wants something that is
// not known; down reports why that did not help.
func (s *Sender) reviveChild(ctx context.Context, name string) (down string) {
	st := s.Offering.ChildStatus(name)
	if st.Listed || st.Unread {
		return ""
	}
	lease, err := s.Acquire(ctx, s.Current.InForce(), name)
	switch {
	case err == nil:
		lease.Release()
	case ctx.Err() != nil:
		return ""
	case errors.Is(err, configuration.ErrSuperseded): // the one that takes its place may list it
	case s.Current.InForce().IsDenied(name): // by a reload meanwhile: the denial names the rule
		return ""
	case failure.KindOf(ctx, err) == failure.NotAvailable:
		return failure.UnavailableText(err)
	default:
		return failure.NotReady(st, s.StderrOf(st))
	}
	s.awaitStart(ctx, []string{name})
	return ""
}
