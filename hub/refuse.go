package hub

import (
	"errors"
	"fmt"
	"strings"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/hub/offering"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/validate"
)

// This file makes the text that a model and its user read when a call does not
// go through: what happened, where, and what to do next.

// toolError is a tool result that says that the call failed.
func toolError(text string) jsonrpc.Answer {
	b := jsonrpc.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	return jsonrpc.ResultAnswer(append(b, `}],"isError":true}`...))
}

// refuseArguments answers arguments that cannot be judged, or do not fit the
// tool's own schema.
func refuseArguments(tool *catalog.Tool, err error) jsonrpc.Answer {
	var args *validate.ArgumentsError
	if errors.As(err, &args) {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "refused: "+err.Error())
	}
	return toolError(schemaText(tool, err))
}

// schemaText says which argument of which tool does not fit its schema.
func schemaText(tool *catalog.Tool, err error) string {
	what := err.Error()
	var schema *validate.SchemaError
	if errors.As(err, &schema) {
		what = schema.Message
		if schema.Pointer != "" {
			what = "argument " + shown(schema.Pointer, 200) + ": " + what
		}
	}
	return fmt.Sprintf("Invalid arguments for the tool %s of the server %s: %s", quotedName(tool.Remote), quotedName(tool.Child), what)
}

// mostRoots is how many roots a denial names.
const mostRoots = 20

// refuseJudged answers a call that was denied; at is where its arguments stand
// within those that the client sent.
func refuseJudged(j *judgement, at string) jsonrpc.Answer { return toolError(j.denial(at)) }

// denial is the text for a call that was denied, or not approved.
func (j *judgement) denial(at string) string {
	if j.refusal != "" {
		return unapproved(j.verdict, at, j.refusal)
	}
	return denial(j.verdict, at)
}

// denial is the text that a model reads, then where the path stands in the arguments and
// where it leads, which case without a boundary holds, and what would change it.
func denial(v *validate.Verdict, at string) string {
	first := v.First
	if first == nil {
		first = &validate.Judged{} // a verdict that nobody reached denies all the same
	}
	path := first.Raw
	switch first.How {
	case validate.HowShell, validate.HowLiteral, validate.HowList, validate.HowTail:
		path = first.Value // a word of a longer text
	}
	var b strings.Builder
	switch {
	case v.Fired != nil:
		b.WriteString(ruleDenial(v, path))
	case v.Rule == validate.RuleProtected:
		fmt.Fprintf(&b, "Access denied: Path '%s' belongs to what the hub protects whatever the roots are (hub.json, its own folders, policy.protected).", shown(path, 200))
	default:
		fmt.Fprintf(&b, "Access denied: Path '%s' is outside the allowed roots boundaries. Current roots: %s", shown(path, 200), rootList(v.Roots))
	}
	if first.Code != "" {
		fmt.Fprintf(&b, "\nFound at %s (to %s; %s).", pointerText(at+first.Pointer), first.Does(), first.Code)
	}
	if leads := first.Leads; leads != "" && leads != path {
		fmt.Fprintf(&b, " It leads to '%s'.", shown(leads, 200))
	}
	for _, r := range first.Readings {
		if r.Err != "" && r.Code == first.Code {
			fmt.Fprintf(&b, " %s.", strings.TrimSuffix(shown(r.Err, 300), "."))
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
	case first.How == validate.HowResource:
		fmt.Fprintf(&b, "\nIf tools may name it, say so in hub.json: %s", first.Hint)
	default:
		fmt.Fprintf(&b, "\nIf this is no path of this machine, declare it in hub.json: %s", first.Hint)
	}
	return b.String()
}

func pointerText(p string) string {
	if p == "" {
		return "the arguments themselves"
	}
	return "argument " + shown(p, 200)
}

// rootList lists the roots in it: canonical URIs, at most mostRoots of them.
func rootList(uris []string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, u := range uris {
		if i == mostRoots {
			fmt.Fprintf(&b, ", and %d more", len(uris)-mostRoots)
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

// refuseBroken answers a call of a server that hub.json describes wrongly.
func refuseBroken(b Broken) jsonrpc.Answer {
	return toolError(fmt.Sprintf("The server %q cannot be run: %s", b.Name, b.Reason))
}

// downText tells of a child that has not come up; what it wrote, where it is the
// session's own.
func (s *Session) downText(st children.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The server %q is not available (%s)", st.Child, st.State)
	if st.Err != "" {
		fmt.Fprintf(&b, ": %s", st.Err)
	}
	if tail := strings.TrimSpace(s.stderrOf(st)); tail != "" && !strings.Contains(st.Err, tail) {
		fmt.Fprintf(&b, "\nIt last wrote:\n%s", tail)
	}
	return b.String()
}

// stderrOf is what the session may see of a child's stderr: of one that is shared
// nothing.
func (s *Session) stderrOf(st children.Status) string {
	if st.Instance != s.id {
		return ""
	}
	return st.Stderr
}

// unknownTool says that a name is no tool, with the nearest ones.
func unknownTool(name string, c *offering.Catalog, owners []string) string {
	for _, owner := range owners {
		for _, left := range c.Omitted(owner) {
			if strings.HasSuffix(name, left.Name) {
				return fmt.Sprintf("unknown tool %s: the tool %q of server %q is not offered: %s", shown(name, 100), left.Name, owner, left.Reason)
			}
		}
	}
	return fmt.Sprintf("unknown tool '%s'; tools/list names %d", shown(name, 100), len(c.Tools()))
}

// shown is a name or a path from outside, as the texts of the hub quote it.
func shown(s string, most int) string { return printable.Escape(s, most) }
