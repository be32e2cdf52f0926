package validate

import (
	"regexp"
	"slices"
	"strings"

	"mcphub/validate/chars"
)

// emptied gives a variable no value.
var emptied = regexp.MustCompile(`\bunset\s+\w+|\b\w+=(?:""|'')?(?:[\s;&|)]|$)`)

// shellVariables are what a shell string may give a value: every name that stands in it without a dollar sign.
type shellVariables struct {
	names      map[string]bool
	positional bool
}

// variablesOf reads a shell string.
func variablesOf(text string) *shellVariables {
	v := &shellVariables{}
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

// withoutVariables writes a word as a shell does where its variables hold nothing. ok is false where one of
// them has a value, or gets one in the text and what is left is no relative name.
func (c *Checker) withoutVariables(w string, vars *shellVariables) (out string, ok bool) {
	if strings.IndexByte(w, '$') < 0 || len(w) > maxTail {
		return "", false
	}
	var b strings.Builder
	lower, some, given := false, false, false
	for i := 0; i < len(w); {
		name, fallback, n := dollarName(w[i:])
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
		if name == "" || name == "PWD" || name == "OLDPWD" || fallback != "" || c.getenv(name) != "" {
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

// isListVariable reports $PATH, which is no path but a list of where programs are, and $SHELL where it is run.
func (d *detector) isListVariable(w string, at wordSeat) bool {
	if w[0] != '$' {
		return false
	}
	name, fallback, n := dollarName(w)
	if n != len(w) || fallback != "" {
		return false
	}
	return name == "PATH" && strings.IndexByte(d.c.getenv(name), ':') >= 0 || name == "SHELL" && at == seatCommand && d.c.isCommand(d.c.getenv(name))
}

// afterPATH returns what is added to $PATH: $PATH:bin.
func (d *detector) afterPATH(w string) (string, bool) {
	if w == "" || w[0] != '$' {
		return "", false
	}
	name, fallback, n := dollarName(w)
	if name != "PATH" || fallback != "" || n >= len(w) || w[n] != ':' {
		return "", false
	}
	return w[n+1:], true
}

// dotVariables writes "." for every variable that makes a component of a word: whatever it holds, mostly that is the
// working directory or nothing, $ROOT/../x and src/$X/../../x.
func dotVariables(w string) string {
	if strings.IndexByte(w, '$') < 0 || strings.IndexByte(w, '/') < 0 || len(w) > maxTail {
		return w
	}
	var b strings.Builder
	for i := 0; i < len(w); {
		_, _, n := dollarName(w[i:])
		if n == 0 && w[i] == '$' && i+1 < len(w) && (chars.IsDigit(w[i+1]) || strings.IndexByte("@*", w[i+1]) >= 0) {
			n = 2
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
