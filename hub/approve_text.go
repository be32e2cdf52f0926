package hub

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
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

// asciiJSON is a text as a string of JSON in which every character shows as what
// it is, and which may be copied as it stands.
func asciiJSON(s string) string {
	b := []byte{'"'}
	last := rune(0)
	for i, r := range s {
		switch {
		case r == '\\':
			b = append(b, `\\`...)
		case r < 0x20 || r >= 0x7f || r == '"' || isMarkup(r, last, s[i+1:]):
			for _, u := range utf16.Encode([]rune{r}) {
				b = fmt.Appendf(b, `\u%04x`, u)
			}
		default:
			b = append(b, byte(r))
		}
		last = r
	}
	return string(append(b, '"'))
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
// exactly what each answer opens and for how long (P4), and the rule that would
// make it needless. It is the same for the same call, whenever it is made. tool
// is the name that rules know the tool, or the method, by.
func inquiryText(child, what, tool string, p *proposal, once bool) string {
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
	for i := range p.offers {
		p.offers[i].write(&b, until)
	}
	p.writeAlways(&b, child, tool)
	return b.String()
}

// write says what choosing an offer opens.
func (o *offer) write(b *strings.Builder, until string) {
	if len(o.grants) == 0 {
		return
	}
	fmt.Fprintf(b, "\n\nIf you answer %q, this server may %s:", o.choice, until)
	for i := range o.grants {
		if g := &o.grants[i]; g.File {
			fmt.Fprintf(b, "\n- %s the file %s, and nothing beside it", g.Roles, legible(g.Path))
		} else {
			fmt.Fprintf(b, "\n- %s everything in the directory %s, at any depth", g.Roles, legible(g.Path))
		}
	}
	switch o.choice {
	case choiceFile:
		b.WriteString("\nThe server is told of no root, so one that keeps to its roots may refuse all the same.")
	case choiceDirectory:
		b.WriteString("\nThe server is told of the directory as one of its roots, as long as that.")
	}
}

// writeAlways says which rules of hub.json would allow the call without a
// question.
func (p *proposal) writeAlways(b *strings.Builder, child, tool string) {
	lines := p.always(child, tool)
	if len(lines) == 0 {
		return
	}
	b.WriteString("\n\nTo allow it always, write into policy.rules of hub.json")
	if len(p.rules) > 0 {
		fmt.Fprintf(b, ", before the rule %s", legible(clip(p.rules[0], 100)))
	}
	b.WriteString(":")
	for _, line := range lines {
		b.WriteString("\n" + line)
	}
	switch {
	case p.rule != "":
		b.WriteString("\nThat allows every call of it, whatever paths it names.")
	case !p.plain:
		b.WriteString("\nThat holds where the path is written in full, from the root.")
	}
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
	choiceDeny   = "deny"
)

// inquiryForm is the params of elicitation/create (2025-06-18, 2025-11-25 and
// 2026-07-28 alike: a string with an enum, no default).
func inquiryForm(text string, offers []offer) []byte {
	b := jsonrpc.AppendString([]byte(`{"message":`), text)
	b = append(b, `,"requestedSchema":{"type":"object","properties":{"`+choiceMember+
		`":{"type":"string","title":"Decision","description":"Deny the call, or allow what is described above","enum":["`+choiceDeny+`"`...)
	for _, o := range offers {
		b = jsonrpc.AppendString(append(b, ','), o.choice)
	}
	return append(b, `]}},"required":["`+choiceMember+`"]}}`...)
}

// readChoice reads the answer to inquiryForm. Only an accepted form that names
// an offer itself allows anything; why says of everything else what it was.
func readChoice(result []byte, offers []offer) (chosen *offer, why string) {
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
		return nil, "the answer could not be read"
	case action == "decline":
		return nil, whyDeclined
	case action == "cancel":
		return nil, "the person closed the question without an answer"
	case action != "accept":
		return nil, "the answer could not be read"
	}
	content, sound := member(result, "content")
	if !sound || !isObject(content) {
		return nil, whyNoChoice
	}
	raw, sound = member(content, choiceMember)
	choice, ok := jsonrpc.String(raw)
	if !sound || !ok {
		return nil, whyNoChoice
	}
	return choose(choice, offers)
}

// choose finds the offer that a choice names.
func choose(choice string, offers []offer) (chosen *offer, why string) {
	if choice == choiceDeny {
		return nil, whyDeclined
	}
	for i := range offers {
		if offers[i].choice == choice {
			return &offers[i], ""
		}
	}
	return nil, whyNoChoice
}

const (
	whyDeclined = "the person said no"
	whyNoChoice = "the question was accepted without one of the answers that it offers"
)

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
