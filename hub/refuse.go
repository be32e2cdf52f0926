package hub

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
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
func refuseArguments(err error) jsonrpc.Answer {
	var args *validate.ArgumentsError
	if errors.As(err, &args) {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "refused: "+err.Error())
	}
	return toolError("Invalid arguments: " + err.Error())
}

// mostRoots is how many roots a denial names (V8).
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

// denial is the text of V8, then where the path stands in the arguments and
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
	if first.Hint != "" {
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

// rootList is the list of V8: canonical URIs, at most mostRoots of them.
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

// downText tells of a child that has not come up.
func downText(st children.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The server %q is not available (%s)", st.Child, st.State)
	if st.Err != "" {
		fmt.Fprintf(&b, ": %s", st.Err)
	}
	if tail := strings.TrimSpace(st.Stderr); tail != "" && !strings.Contains(st.Err, tail) {
		fmt.Fprintf(&b, "\nIt last wrote:\n%s", tail)
	}
	return b.String()
}

// unknownTool says that a name is no tool, with the nearest ones.
func unknownTool(name string, c *Catalog, owners []string) string {
	for _, owner := range owners {
		for _, odd := range c.odd[owner] {
			if strings.HasSuffix(name, odd.Tool) {
				return fmt.Sprintf("unknown tool %s: the tool %q of server %q is not offered: %s", shown(name, 100), odd.Tool, owner, odd.Reason)
			}
		}
	}
	return fmt.Sprintf("unknown tool '%s'; tools/list names %d", shown(name, 100), len(c.tools))
}

// shown makes a text from outside safe to print: control and format characters
// and bad UTF-8 are escaped, and it is clipped to most runes.
func shown(s string, most int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n++; n > most {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// stripEscapes removes terminal escape sequences and the control characters
// that begin them, and leaves tabs and line ends.
func stripEscapes(s string) string {
	if strings.IndexFunc(s, isEscape) < 0 {
		return s
	}
	var b strings.Builder
	rs := []rune(s)
	for i := 0; i < len(rs); i++ {
		if !isEscape(rs[i]) {
			b.WriteRune(rs[i])
			continue
		}
		i = skipSequence(rs, i)
	}
	return b.String()
}

func isEscape(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && (r < 0x20 || r == 0x7f || r >= 0x80 && r <= 0x9f)
}

// skipSequence returns the index of the last rune of the escape sequence that
// begins at i (ECMA-48: CSI, and the string sequences OSC, DCS, APC, PM, SOS).
func skipSequence(rs []rune, i int) int {
	kind := rs[i]
	if kind == 0x1b && i+1 < len(rs) {
		i++
		kind = rs[i] + 0x40 // ESC [ is CSI and so on
	}
	switch kind {
	case 0x9b:
		for i+1 < len(rs) {
			i++
			if rs[i] >= 0x40 && rs[i] <= 0x7e {
				break
			}
		}
	case 0x9d, 0x90, 0x98, 0x9e, 0x9f:
		for i+1 < len(rs) {
			i++
			if rs[i] == 0x07 || rs[i] == 0x9c {
				break
			}
			if rs[i] == 0x1b && i+1 < len(rs) && rs[i+1] == '\\' {
				i++
				break
			}
		}
	}
	return i
}
