package setup

import (
	"fmt"
	"strconv"
	"strings"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/hub"
)

// withoutEffect lists settings that have no effect in this version. None of them would
// close anything.
func withoutEffect(f *config.File, goos string) []config.Problem {
	var out []config.Problem
	for i := range f.Policy.Rules {
		r := &f.Policy.Rules[i]
		if r.Serve && r.Then == keys.ThenEscalate && (r.If.Paths == nil || r.If.Paths.Within == "") {
			p := f.At("policy", "rules", strconv.Itoa(i), "serve")
			p.Severity, p.Text, p.Hint = config.SeverityWarning, "has no effect: the rule names no directory", `name one under "within"`
			out = append(out, p)
		}
	}
	note := func(text string, path ...string) {
		p := f.At(path...)
		p.Severity, p.Text = config.SeverityWarning, text+" in this version: the setting has no effect"
		out = append(out, p)
	}
	if goos != "linux" && f.Attach.Mode == keys.AttachAuto {
		note("clients share a hub on Linux alone", "attach")
	}
	if f.Approval.From != nil && f.Approval.Local == keys.LocalTTY {
		p := f.At("approval", "local")
		p.Severity, p.Text, p.Hint = config.SeverityWarning, "has no effect beside approval.from", "leave it out"
		out = append(out, p)
	}
	return out
}

// cannotAnswer lists what approval.from and approval.local name and this system does not support. Only on Linux does the hub know whose
// program brings an answer from a terminal or the console. On another system a server could allow its own calls.
func cannotAnswer(f *config.File, goos string) []config.Problem {
	var out []config.Problem
	refuse := func(path ...string) {
		p := f.At(path...)
		p.Text = "a terminal or the console cannot answer on " + goos + ": the hub tells a person's program from a server's on Linux alone, and a server would allow its own calls"
		p.Hint = `leave it out; "from": ["client"] has a person behind the client asked`
		out = append(out, p)
	}
	if goos == "linux" {
		return nil
	}
	for i, who := range f.Approval.From {
		if who != keys.FromClient {
			refuse("approval", "from", strconv.Itoa(i))
		}
	}
	if f.Approval.From == nil && f.Approval.Local == keys.LocalTTY {
		refuse("approval", "local")
	}
	return out
}

// misnamedTools lists rules that name tools as the client sees them. Rules know tools by the
// names that their servers give them, so such a rule is about nothing.
func misnamedTools(f *config.File, cfg *hub.Config) []config.Problem {
	var out []config.Problem
	for i := range f.Policy.Rules {
		for k, pattern := range f.Policy.Rules[i].If.Tools {
			for _, c := range cfg.Children {
				if c.Prefix != "" && strings.HasPrefix(pattern, c.Prefix) {
					p := f.At("policy", "rules", strconv.Itoa(i), "if", "tools", strconv.Itoa(k))
					p.Severity = config.SeverityWarning
					p.Text = fmt.Sprintf("rules know tools by the names that their servers give them; %q begins with a prefix of the hub's", pattern)
					p.Hint = fmt.Sprintf("write %q, and %q under servers", strings.TrimPrefix(pattern, c.Prefix), c.Spec.Name)
					out = append(out, p)
					break
				}
			}
		}
	}
	return out
}
