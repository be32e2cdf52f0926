package call

import (
	"context"

	"mcphub/hub/client"
	"mcphub/hub/failure"
	"mcphub/hub/offering"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

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
