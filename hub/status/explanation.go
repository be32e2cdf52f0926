package status

import (
	"slices"

	"mcphub/children/hints"
	"mcphub/children/sandbox"
	"mcphub/hub/approval"
	"mcphub/hub/call"
	"mcphub/validate/policy"
)

// An Explanation is what was decided about one call and why, by the very code
// that decides. It is JSON for the commands; members are added, never changed.
type Explanation struct {
	Tool       string    `json:"tool"`
	Server     string    `json:"server"`
	ToolName   string    `json:"toolName"`
	Decision   string    `json:"decision"`         // allow, escalate or deny
	Rule       string    `json:"rule"`             // what decided
	Policy     *Rule     `json:"policy,omitempty"` // the rule of the policy that decided
	Refusal    string    `json:"refusal,omitempty"`
	Roots      []string  `json:"roots"`
	Origin     string    `json:"origin,omitempty"` // who vouched for the roots; "inline": they came with this call
	Era        string    `json:"era"`              // of the protocol: handshake or modern
	Case       string    `json:"case,omitempty"`   // how the roots stood (rootsmgr.Case); absent if no path was found
	Generation uint64    `json:"generation,omitempty"`
	Stale      bool      `json:"stale,omitempty"`
	Profile    string    `json:"profile,omitempty"`
	Mode       string    `json:"mode"`
	Lenient    int       `json:"lenient,omitempty"` // how many values fit the tool's schema by a lenient reading alone
	Cwd        string    `json:"cwd,omitempty"`     // of the server
	Share      string    `json:"share,omitempty"`   // who shares its process: session, roots or all
	Served     []string  `json:"served,omitempty"`  // the directories that it works with, as far as that is known
	Findings   []Finding `json:"findings"`

	Toolsets []HiddenBy `json:"toolsets,omitempty"` // of the session, all of which hide the tool: then nothing else is said
	approval.Explanation
	Confinement
	ConfinementDetails
}

// HiddenBy is why one toolset hides a tool.
type HiddenBy struct {
	Toolset string `json:"toolset"`
	Why     string `json:"why"`
}

// A Finding is one path that was found in the arguments.
type Finding struct {
	Pointer  string    `json:"pointer"` // RFC 6901
	Raw      string    `json:"raw"`
	Value    string    `json:"value"` // the part of raw that was taken for a path
	Role     string    `json:"role"`
	How      string    `json:"how"` // why it was taken for a path
	Base     string    `json:"base,omitempty"`
	Decision string    `json:"decision"`
	Rule     string    `json:"rule,omitempty"` // of the policy, that matched it
	Code     string    `json:"code"`
	Readings []Reading `json:"readings"`
	Hint     string    `json:"hint,omitempty"`         // the line of hub.json that would change it
	Mend     *Mend     `json:"mend,omitempty"`         // what lets the server have it, if its entry names it
	Sent     string    `json:"sent,omitempty"`         // the spelling that the server would be sent instead
	Closed   *Mend     `json:"kernelCloses,omitempty"` // the kernel would refuse it to the server, and what mends that
}

// Closes reports whether the kernel would refuse the server what the call names.
func (e *Explanation) Closes() bool {
	return slices.ContainsFunc(e.Findings, func(f Finding) bool { return f.Closed != nil })
}

// A Reading is one way to take a path, and its target.
type Reading struct {
	Text  string `json:"text"`
	Path  string `json:"path"`
	Leads string `json:"leads,omitempty"`
	Root  string `json:"root,omitempty"` // that contains it
	Code  string `json:"code"`
	Error string `json:"error,omitempty"`
}

// TakePreview takes in what would become of the call.
func (e *Explanation) TakePreview(f *call.Preview) {
	v, to := f.Verdict, f
	e.Profile, e.Mode = f.Tool.Checked.ProfileName(), f.Tool.Checked.Mode().String()
	e.Explanation, e.Refusal, e.Cwd, e.Served = f.Approval, f.Refusal, f.Cwd, f.Served
	e.Confinement, e.ConfinementDetails = ConfinementOf(f.Kernel), ConfinementDetailsOf(e.Server, f.Kernel, f.Served, sandbox.UserBase)
	e.Decision, e.Rule, e.Generation, e.Stale, e.Lenient = v.Decision.String(), v.Rule, v.Generation, v.Stale, v.Lenient
	if v.Fired != nil {
		r := RuleOf(&policy.RuleInfo{Rule: *v.Fired, Found: true})
		e.Policy = &r
	}
	if snap := f.RootsView.Snapshot; snap != nil {
		e.Roots, e.Origin, e.Case = snap.URIs(), snap.Origin().String(), f.RootsView.Case.String()
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
		out := Finding{
			Pointer: f.Pointer, Raw: f.Raw, Value: f.Value, Role: f.Role.String(), How: f.How, Base: f.Base,
			Decision: f.Decision.String(), Rule: f.Rule, Code: f.Code, Hint: f.Hint, Sent: sent[f.Pointer], Readings: []Reading{},
		}
		if c := closed[f.Pointer+"\x00"+f.Target]; c.Path != "" && f.Decision == policy.Allow {
			out.Closed = new(hints.RemedyFor(e.Server, c, nil))
		}
		if f.Hint != "" && to.Named != "" && sandbox.Contains(to.Named, f.Target) {
			access := sandbox.Read
			if out.Role != "read" {
				access |= sandbox.Write
			}
			out.Hint, out.Mend = "", &Mend{Named: "its entry names " + to.Named, Text: "to let calls name it", Run: hints.AllowCalls(e.Server, access, to.Named)}
		}
		for _, r := range f.Readings {
			out.Readings = append(out.Readings, Reading{Text: r.Text, Path: r.Path, Leads: r.Target, Root: r.Root, Code: r.Code, Error: r.Err})
		}
		e.Findings = append(e.Findings, out)
	}
}
