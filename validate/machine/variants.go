package machine

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/shell"
)

const (
	maxVariants = 48
	maxDecodes  = 3
)

// Variants returns the alternative spellings of one value that some child may arrive at before it opens anything: as
// sent, trimmed, with backslashes for slashes, percent-decoded, with look-alike dots and slashes made ASCII, with
// variables expanded. The first is the value itself, then come the ones that the caller knows. Nearly every honest
// value has no other. all is false if there are too many to look at.
func (m *Machine) Variants(value string, alts ...string) (list []string, all bool) {
	list = append(make([]string, 0, 4), value)
	list = append(list, alts...)
	if len(list) == 1 && IsPlainText(value) && strings.IndexByte(value, '[') < 0 && !strings.Contains(value, "...") {
		return list, true
	}
	more := false
	add := func(s string) {
		switch {
		case s == "" || slices.Contains(list, s):
		case len(list) == maxVariants:
			more = true
		default:
			list = append(list, s)
		}
	}
	decodes := 0
	for i := 0; i < len(list); i++ {
		s := list[i]
		add(chars.TrimEdges(s))
		if !m.Windows && strings.IndexByte(s, '\\') >= 0 {
			add(chars.ToSlash(s))
		}
		if shell.HasMeta(s) {
			add(shell.PlainText(s))
		}
		if decodes < maxDecodes*4 {
			if d := chars.DecodePercent(s); d != s {
				decodes++
				add(d)
			}
		} else if chars.DecodePercent(s) != s {
			more = true
		}
		add(chars.Compatible(s))
		if t, ok := Stripped(s); ok {
			add(t)
		}
		for _, e := range m.Expand(s) {
			add(e)
		}
		if e, ok := shell.WithoutVariables(s, &shell.Variables{}, m.Getenv); ok && (s[0] == '$' && m.Platform.IsAbs(e) && m.isOpenable(e) || chars.Climbs(e) && !chars.Climbs(s)) {
			add(e) // os.ExpandEnv and envsubst know nothing about variables that are not set
		}
		more = more || isUnread(s)
	}
	return list, !more
}

// DollarWork returns what writing out the variables of s costs: each looks for the end of its braces.
func DollarWork(s string) int {
	return len(s)/budget.ByteSteps + strings.Count(s, "${")*shell.DollarSteps
}

// isUnread reports a variable with more in its braces than is read.
func isUnread(s string) bool {
	for i := 0; ; i += 2 {
		j := strings.Index(s[i:], "${")
		if j < 0 {
			return false
		}
		if i += j; len(s)-i > shell.MaxDollar {
			if _, _, n := shell.DollarName(s[i:]); n == 0 {
				return true
			}
		}
	}
}

// IsPlainText reports a value that has one spelling only.
func IsPlainText(s string) bool {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ', c >= utf8.RuneSelf, c == 0x7f:
			return false
		case strings.IndexByte("%\\$\"'`<>", c) >= 0:
			return false
		}
	}
	return true
}

// Expand writes out variables: $NAME, ${NAME}, ${NAME:-default}, %NAME%, $env:NAME. Names that are not set stay as
// they are: to a shell they would be empty, to everything else they are text, and routes are called $id.
func (m *Machine) Expand(s string) []string {
	var out []string
	if strings.IndexByte(s, '$') >= 0 {
		if e, ok := m.expandDollar(s, true); ok {
			out = append(out, e)
		}
		if strings.Contains(s, "${") { // the defaults, whatever is set; once, or nested ones double at each level
			if e, ok := m.expandDollar(s, false); ok && (len(out) == 0 || e != out[0]) {
				out = append(out, e)
			}
		}
	}
	if i := strings.IndexByte(s, '%'); i >= 0 {
		if j := strings.IndexByte(s[i+1:], '%'); j > 0 {
			if v := m.Getenv(s[i+1 : i+1+j]); v != "" {
				out = append(out, s[:i]+v+s[i+j+2:])
			}
		}
	}
	return out
}

func (m *Machine) expandDollar(s string, set bool) (string, bool) {
	var b strings.Builder
	changed := false
	for i := 0; i < len(s); {
		name, fallback, n := shell.DollarName(s[i:])
		if n == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		v := ""
		if set {
			v = m.Getenv(name)
		}
		if v == "" {
			v = fallback
		}
		if v == "" {
			b.WriteString(s[i : i+n])
		} else {
			b.WriteString(v)
			changed = true
		}
		i += n
	}
	return b.String(), changed
}

// Stripped returns what a child that takes "../" out of a path once makes of ....//x; ok is false if that does not climb.
func Stripped(v string) (string, bool) {
	if !strings.Contains(v, "..../") && !strings.Contains(v, ".../.") && !strings.Contains(v, `....\`) && !strings.Contains(v, `...\.`) {
		return v, false
	}
	s := strings.ReplaceAll(chars.ToSlash(v), "../", "")
	return s, chars.Climbs(s)
}
