package schema

import (
	"fmt"
	"time"

	"github.com/dlclark/regexp2"

	"mcphub/internal/jsonschema"
)

const regexLength = 4096

// ecmaRegexp is an ECMA-262 pattern charged to a meter.
type ecmaRegexp struct {
	re    *regexp2.Regexp
	meter *meter
}

func (re *ecmaRegexp) String() string { return re.re.String() }

// MatchString answers false once the budget is spent, and marks it spent: the whole validation is then refused.
func (re *ecmaRegexp) MatchString(s string) bool {
	m := re.meter
	if m.spent || m.regex <= 0 {
		m.spent = true
		return false
	}
	re.re.MatchTimeout = min(regexTimeout, m.regex)
	begin := time.Now()
	ok, err := re.re.MatchString(s)
	m.regex -= time.Since(begin)
	m.spent = err != nil
	return ok
}

// compilePattern compiles a pattern of a schema. Look-ahead and back-references are legal there, which rules out Go's own
// package. Patterns that only ECMA's "u" flag allows (\p{L}) are tried with it.
func (m *meter) compilePattern(pattern string) (jsonschema.Regexp, error) {
	if len(pattern) > regexLength {
		return nil, fmt.Errorf("pattern of %d bytes, the limit is %d", len(pattern), regexLength)
	}
	var first error
	for _, options := range []regexp2.RegexOptions{regexp2.ECMAScript, regexp2.ECMAScript | regexp2.Unicode, regexp2.None} {
		re, err := regexp2.Compile(pattern, options)
		if err == nil {
			return &ecmaRegexp{re: re, meter: m}, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}
