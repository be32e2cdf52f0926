package shell

import (
	"slices"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
)

// emptied gives a variable no value.
var emptied = lazyregexp.New(`\bunset\s+\w+|\b\w+=(?:""|'')?(?:[\s;&|)]|$)`)

// Variables are what a shell string may give a value: every name that stands in it without a dollar sign.
type Variables struct {
	names      map[string]bool
	positional bool
}

// VariablesOf reads a shell string.
func VariablesOf(text string) *Variables {
	v := &Variables{}
	if strings.IndexByte(text, '$') < 0 {
		return v
	}
	v.positional = slices.ContainsFunc([]string{"()", "function", "set ", " -c", "-exec", "shift"}, func(s string) bool { return strings.Contains(text, s) })
	text = emptied.ReplaceAllString(text, " ")
	v.names = make(map[string]bool)
	for i := 0; i < len(text); {
		if !chars.IsLetter(text[i]) && text[i] != '_' {
			i++
			continue
		}
		end := i
		for end < len(text) && (chars.IsLetter(text[end]) || chars.IsDigit(text[end]) || text[end] == '_') {
			end++
		}
		if end-i <= 255 && (i == 0 || !chars.IsDigit(text[i-1]) && strings.IndexByte("${#!", text[i-1]) < 0) {
			v.names[text[i:end]] = true
		}
		i = end
	}
	return v
}

// WithoutVariables writes a word as a shell does where its variables hold nothing. ok is false if one of
// them has a value, or gets one in the text and what is left is no relative name.
func WithoutVariables(w string, vars *Variables, getenv func(string) string) (out string, ok bool) {
	if strings.IndexByte(w, '$') < 0 || len(w) > chars.MaxPath {
		return "", false
	}
	var b strings.Builder
	lower, some, given := false, false, false
	for i := 0; i < len(w); {
		name, fallback, n := DollarName(w[i:])
		if n == 0 && w[i] == '$' && i+1 < len(w) && (chars.IsDigit(w[i+1]) || strings.IndexByte("@*", w[i+1]) >= 0) {
			if w[i+1] == '0' {
				return "", false
			}
			given = given || vars.positional
			i, some, lower = i+2, true, true
			continue
		}
		if n == 0 {
			b.WriteByte(w[i])
			i++
			continue
		}
		if name == "" || name == "PWD" || name == "OLDPWD" || fallback != "" || getenv(name) != "" {
			return "", false
		}
		given = given || vars.names[name]
		lower, some = lower || strings.ToUpper(name) != name, true
		i += n
	}
	out = b.String()
	if given && (out == "" || strings.IndexByte("/~", out[0]) >= 0) {
		return "", false // with a value it leads elsewhere; a relative name is one by itself
	}
	if !some || lower && strings.LastIndexByte(out, '/') == 0 { // ${base}/lib of a template
		return "", false
	}
	return out, true
}

// DotVariables writes "." for every variable that makes a component of a word: whatever it holds, mostly that is the
// working directory or nothing, $ROOT/../x and src/$X/../../x.
func DotVariables(w string) string {
	if strings.IndexByte(w, '$') < 0 || strings.IndexByte(w, '/') < 0 || len(w) > chars.MaxPath {
		return w
	}
	var b strings.Builder
	for i := 0; i < len(w); {
		_, _, n := DollarName(w[i:])
		if n == 0 && w[i] == '$' && i+1 < len(w) && (chars.IsDigit(w[i+1]) || strings.IndexByte("@*", w[i+1]) >= 0) {
			n = 2
		}
		if twice := w[i : i+n]; n > 0 && (i == 0 || w[i-1] == '/') && strings.HasPrefix(w[i+n:], twice+"/") {
			b.WriteString("..") // each may hold a dot
			i += 2 * n
			continue
		}
		if n > 0 && (i == 0 || w[i-1] == '/') && i+n < len(w) && w[i+n] == '/' {
			b.WriteByte('.')
			i += n
			continue
		}
		b.WriteByte(w[i])
		i++
	}
	return b.String()
}

// give remembers a value of a variable. What it held before stands for its own name in it.
func (r *Reader) give(name, value string) {
	own := "${" + name + "}"
	if strings.Contains(value, own) {
		for _, v := range append(slices.Clip(r.value[name]), "") {
			r.give(name, strings.ReplaceAll(value, own, strings.ReplaceAll(v, own, "")))
		}
		return
	}
	if list := r.value[name]; r.spend(len(value)) && !slices.Contains(list, value) {
		r.value[name] = append(list, value)
	}
}

const maxExpanded = 512 // texts that a single word may become

// Expanded returns what a word becomes where its variables have the values that the string gives them; all is false if that
// is too much.
func (r *Reader) Expanded(text string) (list []string, all bool) {
	list = []string{text}
	for i := 0; i < len(list); i++ {
		s := list[i]
		for at := 0; at < len(s); at++ {
			name, _, n := DollarName(s[at:])
			if len(r.value[name]) == 0 || n == 0 {
				continue
			}
			for _, v := range r.value[name] {
				if !r.spend(len(s)) || len(list) == maxExpanded {
					return nil, false
				}
				list = append(list, s[:at]+v+s[at+n:])
			}
			break
		}
	}
	return list[1:], true
}

const (
	MaxDollar   = 1 << 10         // of a ${...}
	DollarSteps = MaxDollar / 100 // what looking for its end costs
)

// DollarName reads $NAME, $env:NAME, ${NAME} or ${NAME:-default} at the start of s; n is 0 if there is none.
func DollarName(s string) (name, fallback string, n int) {
	if len(s) < 2 || s[0] != '$' {
		return "", "", 0
	}
	if s[1] != '{' {
		i := 1
		if len(s) > 5 && strings.EqualFold(s[1:5], "env:") {
			i = 5
		}
		end := i
		for end < len(s) && (chars.IsLetter(s[end]) || s[end] == '_' || end > i && chars.IsDigit(s[end])) {
			end++
		}
		if end == i {
			return "", "", 0
		}
		return s[i:end], "", end
	}
	end, depth := 2, 1
	s = s[:min(len(s), MaxDollar)]
	for ; end < len(s); end++ {
		if s[end] == '{' {
			depth++
		} else if s[end] == '}' {
			if depth--; depth == 0 {
				break
			}
		}
	}
	if end == len(s) {
		return "", "", 0
	}
	body := s[2:end]
	i := 0
	for i < len(body) && (chars.IsLetter(body[i]) || body[i] == '_' || chars.IsDigit(body[i])) {
		i++
	}
	name = body[:i]
	if rest, ok := strings.CutPrefix(body, "env:"); ok { // of editors
		return rest, "", end + 1
	}
	if body == "userHome" {
		return "HOME", "", end + 1
	}
	if rest := strings.TrimPrefix(body[i:], ":"); rest != "" && strings.IndexByte("-=+?", rest[0]) >= 0 {
		fallback = rest[1:]
	}
	return name, fallback, end + 1
}
