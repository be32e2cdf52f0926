package validate

import (
	"regexp"
	"slices"
	"strings"
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
		if !isLetter(text[i]) && text[i] != '_' {
			i++
			continue
		}
		end := i
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end]) || text[end] == '_') {
			end++
		}
		if end-i <= 255 && (i == 0 || !isDigit(text[i-1]) && strings.IndexByte("${#!", text[i-1]) < 0) {
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
		if n == 0 && w[i] == '$' && i+1 < len(w) && (isDigit(w[i+1]) || strings.IndexByte("@*", w[i+1]) >= 0) {
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
