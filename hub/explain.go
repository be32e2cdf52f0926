package hub

import (
	"context"
	"strings"

	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/status"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/validate/policy"
)

// MethodExplain asks what would become of a call without making it. It is
// served only where Config.Inspect is set, to the program's own commands: its
// answer tells more than a model should learn by trying.
const MethodExplain = "mcphub/explain"

// answerExplain answers MethodExplain: params are the params of tools/call.
func (s *Session) answerExplain(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	name, ok := jsonrpc.String(m.Param("name"))
	if !ok {
		return jsonrpc.RefuseParams(texts.Lacks(MethodExplain, "the name of a tool (a string)", "/params/name"))
	}
	return configuration.RetryOnReload(func() (jsonrpc.Answer, error) { return s.explainTool(ctx, name, m.Param("arguments")) })
}

func (s *Session) explainTool(ctx context.Context, name string, arguments []byte) (jsonrpc.Answer, error) {
	if hidden := s.explainHidden(name); hidden != nil {
		return encodeAnswer(hidden), nil
	}
	tool, refusal := s.sender.FindTool(ctx, name)
	if tool.Tool == nil {
		return refusal, nil
	}
	if tool.Child == "" {
		return jsonrpc.RefuseParams(name + " is the hub's own: only calls of servers are judged. For call-tool explain the tool that it would call"), nil
	}
	e := status.Explanation{
		Tool: name, Server: tool.Child, ToolName: tool.OwnName, Profile: tool.Checked.ProfileName(), Mode: tool.Checked.Mode().String(),
		Roots: []string{}, Findings: []status.Finding{}, Era: s.sender.ClientOf(ctx).Era(),
	}
	f, err := s.sender.PreviewCall(ctx, tool, arguments)
	switch kind := failure.KindOf(context.Background(), err); {
	case err == nil:
		e.TakePreview(f)
		e.Share = tool.Conf.Child(tool.Child).Spec.Share.String()
	case kind == failure.Arguments:
		e.Decision, e.Rule, e.Refusal = policy.Deny.String(), "arguments", err.Error()
	case kind == failure.Schema:
		e.Decision, e.Rule, e.Refusal = policy.Deny.String(), "schema", texts.BadArguments(tool.Child, tool.Shown(), err)
	case kind == failure.Missing:
		return jsonrpc.RefuseParams(err.Error()), nil
	case kind == failure.NotAvailable:
		return jsonrpc.AnswerFailure(failure.UnavailableText(err)), nil
	default:
		return failure.AnswerEnded(ctx, err), err
	}
	return encodeAnswer(e), nil
}

// explainHidden explains why the toolsets of the session hide a tool of this name; nil: they do not. The server of the longest prefix counts,
// which was not started.
func (s *Session) explainHidden(name string) *status.Explanation {
	conf := s.currentConfiguration()
	unfiltered := conf.Common()
	owners := unfiltered.CatalogBuilder.Owners(name)
	if conf.ToolsetView() == nil || len(owners) == 0 {
		return nil
	}
	server := owners[0]
	tool := strings.TrimPrefix(name, unfiltered.Child(server).Prefix)
	reasons := conf.ToolsetView().WhyHidden(server, tool)
	if reasons == nil || s.Catalog().Tool(name) != nil { // the latter is of the hub itself, or of a server without a prefix
		return nil
	}
	e := &status.Explanation{
		Tool: name, Server: server, ToolName: tool, Decision: policy.Deny.String(), Rule: "toolset", Era: s.sender.ClientOf(context.Background()).Era(),
		Roots: []string{}, Findings: []status.Finding{}, Refusal: texts.UnknownTool(name),
	}
	for _, r := range reasons {
		e.Toolsets = append(e.Toolsets, status.HiddenBy{Toolset: r.Toolset, Why: r.Text})
	}
	return e
}
