package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/hub/audit"
	"mcphub/hub/definition"
	"mcphub/hub/fixed"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// A Tool is one tool as the client sees it.
type Tool struct {
	Name     string           // towards the client
	Child    string           // "" for a tool of the hub itself
	OwnName  string           // the child's own name
	Def      []byte           // definition towards the client
	Offer    *offers.RawOffer // that it is in
	Checked  *validate.Tool   // its definition, by which calls are judged
	Costly   bool             // its schema may take time to check
	Mirrors  []mirror.Mark    // parameters that headers repeat
	Set      []fixed.Argument // arguments that hub.json sets
	NameOnly bool             // of a name that a client made up: see Builder.Unlisted

	alias  string          // what hub.json calls it instead of OwnName; "": it does not
	finds  bool            // the hub's own tool that finds the ones of children
	mended []string        // what was mended in its definition, for people
	older  bool            // clients before 2026-07-28 read another definition, or none
	tasks  bool            // its definition reports whether its calls can be tasks of 2025-11-25
	id     string          // of the schema of its results; "" for none
	entry  []byte          // definition as the child gave it
	by     *Builder        // that read it
	app    bool            // it has an app, or is there for one
	ui     string          // the child's URI of that app; "" if it names none
	common *CommonDecision // nil for a tool of the hub itself
}

// cheapDefinition is the longest definition, in bytes, that is cheap to check by.
const cheapDefinition = 16 << 10

// excludedByOperator is the reason of a tool that the operator does not want.
const excludedByOperator = "excluded by hub.json"

// makeTool makes a Tool of one entry of a child's list, or reports why not.
func (b *Builder) makeTool(child *Child, offer *offers.RawOffer, raw []byte) (*Tool, string) {
	given := definition.Read(raw)
	ownName, ok := jsonrpc.String(given.Get("name"))
	if !ok || ownName == "" {
		return nil, "it is no tool definition with a name"
	}
	if !isUnambiguous(given.Members) {
		return nil, "its definition has a member twice"
	}
	t := &Tool{Child: child.Name, OwnName: ownName, Offer: offer, by: b, entry: raw, alias: child.Words.Rename[ownName]}
	if !child.wantsTool(ownName) {
		return t, excludedByOperator
	}
	def, mended, err := definition.Check(offers.Tools, given)
	if err != nil {
		return t, err.Error()
	}
	checked, err := b.cfg.Checker.PrepareTool(child.Name, offer.ServerName, def.Text)
	if err != nil {
		return t, err.Error()
	}
	_, changed, err := definition.Older(def)
	if err != nil {
		changed = []string{err.Error() + ", so that they do not get it"}
	}
	results := def.Get("outputSchema")
	t.older, t.mended, t.id = len(changed) > 0, mended, definition.ResultID(results)
	for _, change := range changed {
		t.mended = append(t.mended, "for clients before 2026-07-28: "+change)
	}
	t.Checked = checked
	t.Costly = bytes.Contains(raw, []byte(`"pattern`)) || bytes.Contains(raw, []byte(`\u`)) || len(raw) > cheapDefinition
	t.Name = b.cfg.Names.exposedName(t.Child, child.Prefix, t.Shown())
	t.Def = withKey(cleanProse(def.Text), "name", t.Name)
	if err := t.applyWords(&child.Words); err != nil {
		return t, err.Error()
	}
	if child.CutsResults && results != nil {
		t.Def = jsonrpc.Without(t.Def, "outputSchema") // a client that knows it refuses a result that lacks what was cut
	}
	t.tasks = jsonrpc.Get(def.Get("execution"), "taskSupport") != nil
	if t.tasks && !makesTasks(offer) {
		t.Def = withoutTasks(t.Def)
	}
	t.ui, t.app = appOf(def.Get("_meta"))
	t.Mirrors, _ = mirror.Marks(jsonrpc.Get(t.Def, "inputSchema")) // an invalid one says nothing: clients leave the tool out
	t.common = &CommonDecision{}
	return t, ""
}

// olderDef returns the definition for clients before 2026-07-28; nil if they cannot read it. Of several schemas with one
// identifier v1 of the SDK compiles one alone, and judges all by it. A server could so have it refuse the results of another server. So the first
// child whose schema has an identifier keeps it.
func (t *Tool) olderDef(ids map[string]string) []byte {
	def := t.Def
	if t.older {
		older, _, err := definition.Older(definition.Read(def))
		if err != nil {
			return nil
		}
		def = older
	}
	if t.id == "" || jsonrpc.Get(def, "outputSchema") == nil {
		return def
	}
	switch owner, taken := ids[t.id]; {
	case !taken:
		ids[t.id] = t.Child
	case owner != t.Child:
		return definition.WithoutResultID(def)
	}
	return def
}

// makesTasks reports whether a child said that calls of its tools can be tasks
// (2025-11-25). The hub declares tasks once for the tools of all children. So the
// definition of each tool has to report whether its own calls can be tasks.
func makesTasks(offer *offers.RawOffer) bool {
	requests := jsonrpc.Get(jsonrpc.Get(offer.Capabilities, "tasks"), "requests")
	return !offer.IsModern() && jsonrpc.Get(jsonrpc.Get(requests, "tools"), "call") != nil
}

// withoutTasks returns a definition of a tool whose calls can be no tasks of 2025-11-25.
func withoutTasks(def []byte) []byte {
	support := jsonrpc.Get(jsonrpc.Get(def, "execution"), "taskSupport")
	return jsonrpc.Join(jsonrpc.Splice(def, jsonrpc.Edit{Old: support, With: []byte(`"forbidden"`)}))
}

// TokenBytes is how many bytes of a definition count as one token of a model's
// context. Models differ; it is a measure for comparing servers.
const TokenBytes = 4

// Tokens returns about how many tokens a definition takes.
func Tokens(def []byte) int { return (len(def) + TokenBytes - 1) / TokenBytes }

// Note returns what a person should know of the tool: that its calls are not checked by
// its schema; "" if there is nothing.
func (t *Tool) Note() string {
	if t.Checked == nil {
		return ""
	}
	if err := t.Checked.SchemaError(); err != nil {
		return "its arguments are not checked by its schema, and every string in them is looked at: " + printable.Clip(printable.Clean(err.Error()), 500)
	}
	return ""
}

// isUnambiguous reports whether an object has no member twice: of two, this hub
// would take one and a client perhaps the other.
func isUnambiguous(members []jsonrpc.Member) bool {
	names := make([]string, len(members))
	for i := range members {
		names[i] = members[i].Name
	}
	slices.Sort(names)
	return len(slices.Compact(names)) == len(members)
}

// SameDefinition reports whether a child defined both tools alike, byte for byte,
// and calls itself the same.
func (t *Tool) SameDefinition(other *Tool) bool {
	return t.Offer.ServerName == other.Offer.ServerName && bytes.Equal(t.entry, other.entry)
}

// Description returns what the tool says about itself, short and clean.
func (t *Tool) Description() string {
	var d struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal(t.Def, &d) // an odd description is shown as none
	return printable.Clip(printable.Clean(d.Description), 300)
}

// A CommonDecision is the decision about all calls of a tool that hold nothing to judge. Policy lets each caller make
// such a call, so one verdict and one encoding are used for all of them.
type CommonDecision struct {
	Verdict *validate.Verdict

	once    sync.Once
	encoded map[string]audit.EncodedDecision // by the state of the kernel (Lease.KernelState); not changed once it is made
}

// Encoded returns the decision as the record has it. kernel is the Lease.KernelState of the child that is called.
func (d *CommonDecision) Encoded(kernel string) audit.EncodedDecision { return d.encoded[kernel] }

// CommonDecision returns the decision about a call that holds nothing to judge. The first such call makes
// it, and later calls use it again. The tool must not be one of the hub's own.
func (t *Tool) CommonDecision(scan *validate.Scan) *CommonDecision {
	p := t.common
	p.once.Do(func() {
		p.Verdict = t.by.cfg.Checker.Judge(scan, validate.CallContext{}, rootsmgr.RootsView{})
		p.encoded = map[string]audit.EncodedDecision{}
		for _, kernel := range []string{"", sandbox.None.String(), sandbox.Partial.String(), sandbox.Held.String()} {
			p.encoded[kernel] = audit.EncodeDecision(&audit.DecisionFields{Child: p.Verdict.Child, Tool: p.Verdict.Tool, Decision: p.Verdict.Decision.String(), Rule: p.Verdict.Rule, Kernel: kernel})
		}
	})
	return p
}
