package hub

import (
	"context"
	"slices"

	"mcphub/children/sandbox"
	"mcphub/hub/approval"
	"mcphub/hub/call"
	"mcphub/hub/failure"
	"mcphub/hub/status"
	"mcphub/internal/jsonrpc"
	"mcphub/validate/policy"
)

// MethodExplain asks what would become of a call without making it. It is
// served only where Config.Inspect is set, to the program's own commands: its
// answer tells more than a model should learn by trying.
const MethodExplain = "mcphub/explain"

// An Explanation is what was decided about one call and why, by the very code
// that decides. It is JSON for the commands; members are added, never changed.
type Explanation struct {
	Tool       string             `json:"tool"`
	Server     string             `json:"server"`
	ToolName   string             `json:"toolName"`
	Decision   string             `json:"decision"`         // allow, escalate or deny
	Rule       string             `json:"rule"`             // what decided
	Policy     *status.Rule       `json:"policy,omitempty"` // the rule of the policy that decided
	Refusal    string             `json:"refusal,omitempty"`
	Roots      []string           `json:"roots"`
	Origin     string             `json:"origin,omitempty"` // who vouched for the roots; "inline": they came with this call
	Era        string             `json:"era"`              // of the protocol: handshake or modern
	Case       string             `json:"case,omitempty"`   // how the roots stood (rootsmgr.Case); absent where no path was found
	Generation uint64             `json:"generation,omitempty"`
	Stale      bool               `json:"stale,omitempty"`
	Profile    string             `json:"profile,omitempty"`
	Mode       string             `json:"mode"`
	Cwd        string             `json:"cwd,omitempty"`    // of the server
	Share      string             `json:"share,omitempty"`  // who shares its process: session, roots or all
	Served     []string           `json:"served,omitempty"` // the directories that it works with, as far as that is known
	Findings   []ExplainedFinding `json:"findings"`
	approval.Explanation
	status.Confinement
	status.ConfinementDetails
}

// ExplainedFinding is one path that was found in the arguments.
type ExplainedFinding struct {
	Pointer  string             `json:"pointer"` // RFC 6901
	Raw      string             `json:"raw"`
	Value    string             `json:"value"` // the part of raw that was taken for a path
	Role     string             `json:"role"`
	How      string             `json:"how"` // why it was taken for a path
	Base     string             `json:"base,omitempty"`
	Decision string             `json:"decision"`
	Rule     string             `json:"rule,omitempty"` // of the policy, that matched it
	Code     string             `json:"code"`
	Readings []ExplainedReading `json:"readings"`
	Hint     string             `json:"hint,omitempty"`         // the line of hub.json that would change it
	Sent     string             `json:"sent,omitempty"`         // the spelling that the server would be sent instead
	Closed   *status.Mend       `json:"kernelCloses,omitempty"` // the kernel would refuse it to the server, and what mends that
}

// Closes reports whether the kernel would refuse the server what the call names.
func (e *Explanation) Closes() bool {
	return slices.ContainsFunc(e.Findings, func(f ExplainedFinding) bool { return f.Closed != nil })
}

// ExplainedReading is one way to take a path, and where it leads.
type ExplainedReading struct {
	Text  string `json:"text"`
	Path  string `json:"path"`
	Leads string `json:"leads,omitempty"`
	Root  string `json:"root,omitempty"` // that contains it
	Code  string `json:"code"`
	Error string `json:"error,omitempty"`
}

// explain answers MethodExplain: params are those of tools/call.
func (s *Session) explain(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	name, ok := jsonrpc.String(m.Param("name"))
	if !ok {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "explain needs the name of a tool")
	}
	return call.RetryOnReload(func() (jsonrpc.Answer, error) { return s.explainTool(ctx, name, m.Param("arguments")) })
}

func (s *Session) explainTool(ctx context.Context, name string, arguments []byte) (jsonrpc.Answer, error) {
	tool, refusal := s.calls.FindTool(ctx, name)
	if tool.Tool == nil {
		return refusal, nil
	}
	if tool.Child == "" {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, name+" is the hub's own: only calls of servers are judged. For call-tool explain the tool that it would call"), nil
	}
	e := Explanation{
		Tool: name, Server: tool.Child, ToolName: tool.Remote, Profile: tool.Checked.ProfileName(), Mode: tool.Checked.Mode().String(),
		Roots: []string{}, Findings: []ExplainedFinding{}, Era: s.calls.ClientOf(ctx).Era(),
	}
	f, err := s.calls.Preview(ctx, tool, arguments)
	switch kind := failure.Of(context.Background(), err); {
	case err == nil:
		e.judged(f)
		e.Share = tool.By.Child(tool.Child).Spec.Share.String()
	case kind == failure.Arguments:
		e.Decision, e.Rule, e.Refusal = policy.Deny.String(), "arguments", err.Error()
	case kind == failure.Schema:
		e.Decision, e.Rule, e.Refusal = policy.Deny.String(), "schema", failure.SchemaText(tool.Tool, err)
	case kind == failure.Missing:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error()), nil
	case kind == failure.NotAvailable:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, failure.UnavailableText(err)), nil
	default:
		return failure.Gone(ctx, err), err
	}
	return marshalled(e), nil
}

// judged takes in what would become of the call.
func (e *Explanation) judged(f *call.Preview) {
	v := f.Verdict
	e.Profile, e.Mode = f.Tool.Checked.ProfileName(), f.Tool.Checked.Mode().String()
	e.Explanation, e.Refusal, e.Cwd, e.Served = f.Approval, f.Refusal, f.Cwd, f.Served
	e.Confinement, e.ConfinementDetails = status.ConfinementOf(f.Kernel), status.ConfinementDetailsOf(e.Server, f.Kernel, f.Served, sandbox.UserBase)
	e.Decision, e.Rule, e.Generation, e.Stale = v.Decision.String(), v.Rule, v.Generation, v.Stale
	if v.Fired != nil {
		r := status.RuleOf(&policy.RuleInfo{Rule: *v.Fired, Found: true})
		e.Policy = &r
	}
	if snap := f.View.Snapshot; snap != nil {
		e.Roots, e.Origin, e.Case = snap.URIs(), snap.Origin().String(), f.View.Case.String()
	}
	closed := map[string]sandbox.Refusal{}
	for _, c := range f.Closed {
		closed[c.At+"\x00"+c.Path] = c
	}
	sent := map[string]string{}
	for _, r := range v.Rewrites {
		sent[r.Pointer] = r.To
	}
	for _, f := range v.Findings {
		out := ExplainedFinding{
			Pointer: f.Pointer, Raw: f.Raw, Value: f.Value, Role: f.Role.String(), How: f.How, Base: f.Base,
			Decision: f.Decision.String(), Rule: f.Rule, Code: f.Code, Hint: f.Hint, Sent: sent[f.Pointer], Readings: []ExplainedReading{},
		}
		if c := closed[f.Pointer+"\x00"+f.Leads]; c.Path != "" && f.Decision == policy.Allow {
			out.Closed = status.MendOf(e.Server, c, nil)
		}
		for _, r := range f.Readings {
			out.Readings = append(out.Readings, ExplainedReading{Text: r.Text, Path: r.Path, Leads: r.Leads, Root: r.Root, Code: r.Code, Error: r.Err})
		}
		e.Findings = append(e.Findings, out)
	}
}
