package config

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// FuzzParse: whatever the text, nothing panics, and what comes out keeps the
// promises of Load.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everyKey))
	if b, err := os.ReadFile(exampleFile); err == nil {
		f.Add(b)
	}
	for _, r := range aliasRows {
		f.Add([]byte(`{"mcpServers": {"a": ` + r.theirs + `}}`))
	}
	for _, s := range []string{
		"", "{", "[]", "null", "\xff\xfe{", "\xef\xbb\xbf{}", "{} // x", "{/*", `{"a":1,"a":2}`, `{"mcpServers":{"a":{},"a":[]}}`,
		`{"mcp":{"servers":{"x":{"command":"y"}}}}`, `{"mcpServers":{"a":{"command":["x","${A:-${B:-c}}","$${root}"],"args":3}}}`,
		`{"policy":{"rules":[{"then":"deny","if":{"servers":["a"]}},{"x":1}]},"http":{"tokens":[{},{"name":"a","env":"b"}]}}`,
		`{"mcpServers":{"":{"url":"${"},"\u0000":{"command":"\u0000"}},"roots":{"fallback":[{"path":null},{}]}}`,
		`{"mcpServers":{"a":{"timeout":{"startup":1,"start":2},"timeoutMs":1e999,"tools":{"include":null}}}}`,
		strings.Repeat("[", 200), `{"a":` + strings.Repeat(`{"b":`, 150),
	} {
		f.Add([]byte(s))
	}
	env := envOf(map[string]string{"A": "${root}", "HOME": "/h"})
	f.Fuzz(func(t *testing.T, data []byte) {
		file, problems, err := Parse("hub.json", data, env)
		if (file == nil) != (err != nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
		bad := map[string]bool{}
		for _, p := range problems {
			if p.Line < 1 || p.Col < 1 || p.Text == "" || strings.ContainsAny(p.String(), "\n\x00\x1b") {
				t.Fatalf("problem %q", p.String())
			}
			if p.Severity == SeverityError {
				bad[p.Key] = true
			}
		}
		if err != nil {
			var le *LoadError
			if !errors.As(err, &le) || le.Err == nil && len(le.Errors) == 0 {
				t.Fatalf("error %v", err)
			}
			if le.Err != nil && len(data) <= maxFile { // the reader could not fill its own types
				t.Fatal(le)
			}
			return
		}
		failed := 0
		for i := range file.Servers {
			s := &file.Servers[i]
			if s.Err != nil {
				failed++
				continue
			}
			kinds := 0
			for _, k := range []string{s.Builtin, s.Command, s.URL} {
				if k != "" {
					kinds++
				}
			}
			if kinds != 1 || !serverName.MatchString(s.Name) || strings.Contains(s.Name, file.Names.Separator) || s.Timeout.Call <= 0 {
				t.Fatalf("server %+v", s)
			}
		}
		if len(bad) > 0 && failed == 0 {
			t.Fatalf("errors but no server failed: %v", problems)
		}
		for _, r := range file.Policy.Rules {
			if r.Name == "" || r.Then == "" {
				t.Fatalf("rule %+v", r)
			}
		}
		if file.Limits.Frame < 64<<10 || file.Names.Max < 16 || file.Roots.Timeout <= 0 {
			t.Fatalf("limits %+v", file)
		}
	})
}
