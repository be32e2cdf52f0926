package hub

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/validate"
)

// This file makes the text that a person reads before allowing something, and
// the one that a model reads when it was not allowed. What the text is made of
// comes from a model and from servers: it must not be able to say anything else
// than it is.

// legible is a text between quotes in which every character shows, once, as
// what it is: what does not print, changes direction, joins or hides others, or
// may be taken for markup, is escaped as in Go. Right-to-left letters are left
// for who reads them, and followed by the escaped form in the order they have.
func legible(s string) string {
	text, mixed := escapeText(s, true)
	text = `"` + text + `"`
	if mixed {
		return text + " (in the order of its letters: " + strconv.QuoteToASCII(s) + ")"
	}
	return text
}

// legibleJSON is the same for JSON: its strings are shown decoded, so that an
// escape of JSON hides no letter.
func legibleJSON(raw []byte) string {
	var b strings.Builder
	mixed := false
	add := func(s string, quotes bool) {
		text, m := escapeText(s, quotes)
		mixed = mixed || m
		b.WriteString(text)
	}
	for len(raw) > 0 {
		at := bytes.IndexByte(raw, '"')
		if at < 0 {
			break
		}
		add(string(raw[:at]), false)
		raw = raw[at:]
		end := 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		token := raw[:min(end+1, len(raw))]
		raw = raw[len(token):]
		if s, ok := jsonrpc.String(token); ok {
			b.WriteByte('"')
			add(s, true)
			b.WriteByte('"')
		} else {
			add(string(token), false)
		}
	}
	add(string(raw), false)
	if mixed {
		return b.String() + " (in the order of its letters: " + strconv.QuoteToASCII(b.String()) + ")"
	}
	return b.String()
}

// escapeText escapes what does not show as what it is, be it shown as it stands
// or as markup; mixed: there are letters from right to left in it.
func escapeText(s string, quotes bool) (text string, mixed bool) {
	var b strings.Builder
	last := rune(0)
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case quotes && r == '\\':
			b.WriteString(`\\`)
		case quotes && r == '"', isMarkup(r, last, s[i+utf8.RuneLen(r):]):
			fmt.Fprintf(&b, `\x%02x`, r)
		case printable.Hidden(r) || unicode.Is(unicode.M, r) && (unicode.Is(unicode.M, last) || i == 0):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			mixed = mixed || backwards(r)
			b.WriteRune(r)
		}
		last = r
	}
	return b.String(), mixed
}

// isMarkup reports a character that a client which shows Markdown or HTML would
// not show, and blanks that it would join; last stands before it, next begins
// what follows.
func isMarkup(r, last rune, next string) bool {
	switch r {
	case '<', '`', '*', '&':
		return true
	case '(':
		return last == ']'
	case ' ', '~':
		return last == r
	case '_': // within a word it is one
		after, _ := utf8.DecodeRuneInString(next)
		word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
		return !word(last) || !word(after)
	}
	return false
}

// backwards reports a letter that is written from right to left.
func backwards(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// inquiryText is the question: which server, what it would do with which paths,
// and exactly what accepting opens and for how long (P4). It is the same for
// the same call, whenever it is made.
func inquiryText(child, what string, p *proposal, once bool) string {
	until := "until this session ends"
	if once {
		until = "for this one call"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Allow the server %s to run %s?", legible(child), what)
	if len(p.rules) > 0 {
		fmt.Fprintf(&b, " The policy asks a person first (%s).", quotedNames("rule", p.rules))
	}
	if len(p.paths) > 0 {
		b.WriteString("\n\nThe call names:")
	}
	for _, path := range p.paths {
		path.line(&b)
	}
	if len(p.others) > 0 {
		b.WriteString("\n\nIt also names what needs no approval of its own:")
	}
	for i, path := range p.others {
		if i == mostAskedPaths {
			fmt.Fprintf(&b, "\n- and %d more", len(p.others)-i)
			break
		}
		path.line(&b)
	}
	if p.rule != "" {
		fmt.Fprintf(&b, "\n\nIts arguments are: %s\nIf you allow it, this very call is made, once.", p.args)
	}
	if len(p.grants) > 0 {
		fmt.Fprintf(&b, "\n\nIf you allow it, this server may %s:", until)
	}
	served := false
	for i := range p.grants {
		g := &p.grants[i]
		switch {
		case !g.File:
			fmt.Fprintf(&b, "\n- %s everything in the directory %s, at any depth", g.Roles, legible(g.Path))
			served = served || g.serves()
		case g.dir:
			fmt.Fprintf(&b, "\n- %s the directory %s itself. A tool that walks down a directory by itself reads what is below it too", g.Roles, legible(g.Path))
		default:
			fmt.Fprintf(&b, "\n- %s the file %s, and nothing beside it", g.Roles, legible(g.Path))
		}
	}
	switch {
	case served:
		b.WriteString("\nThe server is told of the directory as one of its roots, as long as that.")
	case len(p.grants) > 0:
		b.WriteString("\nNo directory is opened, so a server that keeps to its roots may refuse all the same.")
	}
	return b.String()
}

func (p askedPath) line(b *strings.Builder) {
	fmt.Fprintf(b, "\n- to %s: %s", p.role, legible(clip(p.leads, 2*longestAsked)))
	if p.sent != p.leads {
		fmt.Fprintf(b, ", given as %s", legible(clip(p.sent, 200)))
	}
}

// quotedNames is `rule "a"` or `rules "a", "b"`.
func quotedNames(one string, names []string) string {
	quoted := make([]string, 0, len(names))
	for _, n := range names {
		quoted = append(quoted, legible(clip(n, 100)))
	}
	if len(names) > 1 {
		one += "s"
	}
	return one + " " + strings.Join(quoted, ", ")
}

// The form of a question. The names of the choices are what a client shows.
const (
	choiceMember = "decision"
	choiceNo     = "deny"
	choiceYes    = "allow"
)

// inquiryForm is the params of elicitation/create (2025-06-18, 2025-11-25 and
// 2026-07-28 alike: a string with an enum, no default).
func inquiryForm(text string) []byte {
	b := jsonrpc.AppendString([]byte(`{"message":`), text)
	return append(b, `,"requestedSchema":{"type":"object","properties":{"`+choiceMember+`":{"type":"string","title":"Decision","description":"Allow what is described above, or deny it","enum":["`+
		choiceNo+`","`+choiceYes+`"]}},"required":["`+choiceMember+`"]}}`...)
}

// readChoice reads the answer to inquiryForm. Only an accepted form that says
// so itself allows; why says of everything else what it was.
func readChoice(result []byte) (allowed bool, why string) {
	member := func(raw []byte, wanted string) (value []byte, ok bool) {
		ok = true
		err := jsonrpc.Members(raw, func(name string, v []byte) bool {
			if name == wanted {
				ok = ok && value == nil
				value = v
			}
			return true
		})
		return value, ok && err == nil
	}
	raw, sound := member(result, "action")
	action, _ := jsonrpc.String(raw)
	switch {
	case !sound:
		return false, "the answer could not be read"
	case action == "decline":
		return false, whyDeclined
	case action == "cancel":
		return false, "the person closed the question without an answer"
	case action != "accept":
		return false, "the answer could not be read"
	}
	content, sound := member(result, "content")
	if !sound || !isObject(content) {
		return false, "the question was accepted without saying that the call is allowed"
	}
	raw, sound = member(content, choiceMember)
	choice, _ := jsonrpc.String(raw)
	switch {
	case sound && choice == choiceYes:
		return true, ""
	case sound && choice == choiceNo:
		return false, whyDeclined
	}
	return false, "the question was accepted without saying that the call is allowed"
}

const whyDeclined = "the person said no"

// unapproved is the text for a call that a rule escalates and nobody allowed.
func unapproved(v *validate.Verdict, at, why string) string {
	var b strings.Builder
	rule := ""
	if v.Fired != nil {
		rule = " by " + ruleText(v.Fired)
	}
	if f := v.First; f != nil {
		fmt.Fprintf(&b, "Access denied: Path '%s' needs the approval of a person%s, and it was not given: %s.", shown(f.Raw, 200), rule, why)
		fmt.Fprintf(&b, "\nFound at %s (to %s; %s).", pointerText(at+f.Pointer), f.Role, f.Code)
		if f.Leads != "" && f.Leads != f.Raw {
			fmt.Fprintf(&b, " It leads to '%s'.", shown(f.Leads, 200))
		}
	} else {
		fmt.Fprintf(&b, "Access denied: This call needs the approval of a person%s, and it was not given: %s.", rule, why)
	}
	b.WriteString("\nThe server was not called.")
	return b.String()
}
