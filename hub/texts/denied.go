package texts

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"mcphub/internal/printable"
	"mcphub/validate"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
	"mcphub/validate/schema"
)

// This file makes the texts of calls that are denied, or whose arguments do not fit.

// BadArguments returns what is told about arguments that do not fit the schema of a tool.
func BadArguments(server, tool string, err error) string {
	what := err.Error()
	if invalid, ok := errors.AsType[*schema.Error](err); ok {
		what = invalid.Message
		if invalid.Pointer != "" {
			what = "argument " + printable.Escape(invalid.Pointer, 200) + ": " + what
		}
	}
	return fmt.Sprintf("Invalid arguments for the tool %s of the server %s: %s", printable.Quote(tool), printable.Quote(server), what)
}

// maxRoots is how many roots a denial names.
const maxRoots = 20

// Denied returns the text for a call that was denied: the text that a model reads, then the place of the path in the arguments and
// its target, which case without a boundary holds, and what would change it. named is the path that the entry of the server
// names and the denied one is or lies in; "" for none.
func Denied(v *validate.Verdict, at, named string) string {
	first := v.Deciding
	if first == nil {
		first = &validate.FindingVerdict{} // a verdict that no one reached denies all the same
	}
	path := first.Raw
	switch first.How {
	case detect.HowShell, detect.HowLiteral, detect.HowList, detect.HowTail:
		path = first.Value // a word of a longer text
	}
	var b strings.Builder
	switch {
	case v.Fired != nil:
		b.WriteString(ruleDenial(v, path))
	case v.Rule == validate.RuleProtected:
		fmt.Fprintf(&b, "Access denied: Path '%s' belongs to what the hub protects whatever the roots are (hub.json, its own folders, policy.protected).", printable.Escape(path, 200))
	default:
		fmt.Fprintf(&b, "Access denied: Path '%s' is outside the allowed roots boundaries. Current roots: %s", printable.Escape(path, 200), rootList(v.Roots))
	}
	writeFound(&b, first, at, path)
	for _, r := range first.Readings {
		if r.Err != "" && r.Code == first.Code {
			fmt.Fprintf(&b, " %s.", strings.TrimSuffix(printable.Escape(r.Err, 300), "."))
			break
		}
	}
	if v.Fired != nil {
		fmt.Fprintf(&b, "\n%s", ruleCure(v))
	}
	if v.Why != "" {
		fmt.Fprintf(&b, "\n%s", v.Why)
	}
	switch {
	case first.Hint == "":
	case first.How == detect.HowResource:
		fmt.Fprintf(&b, "\nIf tools may name it, say so in hub.json: %s", first.Hint)
	case named != "":
		fmt.Fprintf(&b, "\nThe entry of the server names '%s', and that is no root. Ask your user to run `mcphub why`.", printable.Escape(named, 200))
	default:
		fmt.Fprintf(&b, "\nIf this is no path of this machine, declare it in hub.json: %s", first.Hint)
	}
	return b.String()
}

func pointerText(p string) string {
	if p == "" {
		return "the arguments themselves"
	}
	return "argument " + printable.Escape(p, 200)
}

// rootList lists the roots in it: canonical URIs, at most maxRoots of them.
func rootList(uris []string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, u := range uris {
		if i == maxRoots {
			fmt.Fprintf(&b, ", and %d more", len(uris)-maxRoots)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('"')
		b.WriteString(u)
		b.WriteByte('"')
	}
	return b.String() + "]"
}

// ruleText names a rule in a denial: by its name, and the line of hub.json
// without the folder, which is no one's business there.
func ruleText(r *policy.Rule) string {
	name := fmt.Sprintf("the rule %q of the policy", printable.Escape(r.Name, 100))
	if r.At == "" {
		return name
	}
	return name + " (" + printable.Escape(filepath.Base(r.At), 100) + ")"
}

// ruleDenial returns the first line of a denial that a rule made; path is ""
// if the call itself was denied.
func ruleDenial(v *validate.Verdict, path string) string {
	subject := fmt.Sprintf("Path '%s'", printable.Escape(path, 200))
	if v.Deciding == nil {
		subject = "This call"
	}
	if v.Decision == policy.Escalate {
		return fmt.Sprintf("Access denied: %s needs the approval of a human by %s, and nobody has given it.", subject, ruleText(v.Fired))
	}
	return fmt.Sprintf("Access denied: %s is refused by %s.", subject, ruleText(v.Fired))
}

// ruleCure returns what would change a decision that a rule made.
func ruleCure(v *validate.Verdict) string {
	r := v.Fired
	var b strings.Builder
	fmt.Fprintf(&b, "The rule matches %s.", (&policy.RuleInfo{Rule: *r}).Condition())
	if v.Decision == policy.Deny {
		b.WriteString(" No approval lifts it: it would have to be changed in hub.json, or a rule that allows be put before it.")
	}
	return b.String()
}

// writeFound reports where a path was found, what the call would do there, and where it leads if that is not path.
func writeFound(b *strings.Builder, f *validate.FindingVerdict, at, path string) {
	if f.Code != "" {
		fmt.Fprintf(b, "\nFound at %s (to %s; %s).", pointerText(at+f.Pointer), f.Does(), f.Code)
	}
	if f.Target != "" && f.Target != path {
		fmt.Fprintf(b, " It leads to '%s'.", printable.Escape(f.Target, 200))
	}
}

// Unapproved returns the text for a call that a rule escalates and no one allowed.
func Unapproved(v *validate.Verdict, at, why string) string {
	var b strings.Builder
	rule := ""
	if v.Fired != nil {
		rule = " by " + ruleText(v.Fired)
	}
	if f := v.Deciding; f != nil {
		fmt.Fprintf(&b, "Access denied: Path '%s' needs the approval of a person%s, and it was not given: %s.", printable.Escape(f.Raw, 200), rule, why)
		writeFound(&b, f, at, f.Raw)
	} else {
		fmt.Fprintf(&b, "Access denied: This call needs the approval of a person%s, and it was not given: %s.", rule, why)
	}
	b.WriteString("\nThe server was not called.")
	return b.String()
}
