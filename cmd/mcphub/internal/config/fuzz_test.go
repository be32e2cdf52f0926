package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/keys"
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
		// Depth, in the file and in each place where a client's spelling is rewritten.
		strings.Repeat("[", 2<<20), "/*[*/" + strings.Repeat(`{"a":`, 1<<16), `{"mcp":{"servers":` + strings.Repeat(`{"a":`, 120),
		`{"mcpServers":{"a":{"command":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}}}`,
		`{"mcpServers":{"a":{"env_http_headers":` + strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90) + `}}}`,
		`{"servers":{"a":{"env_vars":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `,"timeout":` + strings.Repeat(`{"call":`, 80) + "1" + strings.Repeat("}", 80) + `}}}`,
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
			if le.Err != nil && len(data) <= hubfile.MaxSize { // the reader could not fill its own types
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
			if kinds != 1 || !keys.IsServerName(s.Name) || strings.Contains(s.Name, file.Names.Separator) || s.Timeout.Call <= 0 {
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

// FuzzExpand: whatever a text and the variables hold, expanding it neither ends
// the program nor takes longer than reading it a few times, and the value of a
// variable is never read as a placeholder.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{
		"", "${A}", "${A:-${B:-c}}", "$${root}x", "${env:A:-}", "${root:a b}", "${", "$${", "${}", "${A:-}", "${input:x}", "${/}",
		strings.Repeat("${A:-", 1<<16), strings.Repeat("${Z:-", 8) + strings.Repeat("}", 8), strings.Repeat("${Z:-", 1<<12) + strings.Repeat("}", 1<<12),
		strings.Repeat("$${root:", 1<<14), strings.Repeat("${Z:-x}", 1<<12),
	} {
		f.Add(s, "v", true)
	}
	f.Fuzz(func(t *testing.T, text, value string, later bool) {
		e := expander{env: func(name string) (string, bool) { return value, name == "A" }, later: later}
		got, bad := e.expandText(text, 0)
		if bad != nil {
			if bad.text == "" || len(bad.text) > 1000 {
				t.Fatalf("%q: %q", text, bad.text)
			}
			return
		}
		if !strings.Contains(text, "$") && got != text {
			t.Fatalf("%q became %q", text, got)
		}
		if text == "${A}" && !later && got != value {
			t.Fatalf("%q became %q", value, got)
		}
	})
}

// FuzzAlias: whatever a client's entry holds, under whatever a client calls its
// container, it becomes an entry or a problem.
func FuzzAlias(f *testing.F) {
	for _, r := range aliasRows {
		f.Add("mcpServers", r.theirs)
	}
	for _, a := range aliases {
		f.Add("servers", `{"command":"x","`+a.from+`":`+strings.Repeat("[", 60)+strings.Repeat("]", 60)+`}`)
		f.Add("mcp", `{"`+a.from+`":`+strings.Repeat(`{"a":`, 60)+`"b"`+strings.Repeat("}", 60)+`,"url":"http://h/"}`)
	}
	for _, container := range containers {
		f.Add(container, `{"command":`+strings.Repeat("[", 200))
		f.Add(container, `{"command":["x",["y"]],"args":[[]],"command":{"path":{}}}`)
	}
	f.Fuzz(func(t *testing.T, container, entry string) {
		file, problems, err := Parse("hub.json", []byte(`{"`+container+`":{"a":`+entry+`}}`), envOf(map[string]string{"A": "b"}))
		if (file == nil) != (err != nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
		if file == nil && len(problems) == 0 {
			t.Fatal("nobody says why")
		}
	})
}
