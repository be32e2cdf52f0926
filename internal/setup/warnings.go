package setup

import (
	"fmt"
	"strconv"
	"strings"

	"mcphub/hub"
	"mcphub/internal/config"
	"mcphub/internal/config/keys"
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
	local := f.Approval.Local == keys.LocalTTY
	switch {
	case f.Approval.From != nil && local:
		p := f.At("approval", "local")
		p.Severity, p.Text, p.Hint = config.SeverityWarning, "has no effect beside approval.from", "leave it out"
		out = append(out, p)
	case goos == "windows" && local:
		note("mcphub approve needs a terminal of Unix", "approval", "local")
	}
	for i, who := range f.Approval.From {
		switch {
		case goos == "windows" && who != keys.FromClient:
			note("who answers at a terminal or on the console has to be at a terminal of Unix", "approval", "from", strconv.Itoa(i))
		case goos != "linux" && who == keys.FromConsole:
			note("only on Linux can the hub tell whose program brings an answer from the console", "approval", "from", strconv.Itoa(i))
		}
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
