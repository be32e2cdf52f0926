package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
)

// setting is one way to give a key.
type setting struct {
	path  []string
	value any
}

// file writes it as hub.json.
func (s setting) file() string {
	var v any = s.value
	for i := len(s.path) - 1; i >= 0; i-- {
		v = map[string]any{s.path[i]: v}
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// text returns the value as a variable or a flag has it.
func (s setting) text() string {
	if t, ok := s.value.(string); ok {
		return t
	}
	b, _ := json.Marshal(s.value)
	return string(b)
}

func (s setting) variable() string {
	if s.path[0] == "mcpServers" {
		whole := setting{s.path[:1], nested(s.path[1:], s.value)}
		return "MCPHUB_MCPSERVERS=" + whole.text()
	}
	return "MCPHUB_" + strings.ToUpper(strings.Join(s.path, "__")) + "=" + s.text()
}

func (s setting) flag() string { return jsonc.FormatKey(s.path) + "=" + s.text() }

func nested(path []string, v any) any {
	for i := len(path) - 1; i >= 0; i-- {
		v = map[string]any{path[i]: v}
	}
	return v
}

// samples are two sound values of a spec that differ.
func samples(t *testing.T, s *keys.Spec) (a, b any) {
	switch s.Kind {
	case keys.KindBool:
		return true, false
	case keys.KindChoice, keys.KindAllow:
		v := s.Values()
		return v[0], v[1]
	case keys.KindPorts:
		return s.Choices[1], []any{443}
	case keys.KindInt:
		return s.Min + 1, s.Min + 2
	case keys.KindDuration:
		return "7ms", "8ms"
	case keys.KindSize:
		return max(s.Min, 1) + 1, max(s.Min, 1) + 2
	case keys.KindJSON:
		return []any{1}, nil
	case keys.KindScalar:
		return "a", "b"
	case keys.KindString:
		var sound []any
		for _, v := range []string{"a", "b", "/a", "/b", "__", "--", "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1", "10.0.0.0/8", "https://a.example/", "https://b.example/", "https://a.example/d", "https://b.example/d", "A", "B", "tcp://a.example:1", "tcp://b.example:1", "sha256/" + strings.Repeat("A", 43) + "=", "sha256/" + strings.Repeat("B", 42) + "A=", "1/s", "2/s"} {
			if s.Valid == nil || s.Valid(v) == "" {
				sound = append(sound, v)
			}
		}
		if len(sound) < 2 {
			t.Fatalf("no two values of a string: %v", sound)
		}
		return sound[0], sound[1]
	case keys.KindList:
		x, y := samples(t, s.Elem)
		return []any{x}, []any{y, x}
	case keys.KindMap:
		x, y := samples(t, s.Elem)
		name := "K"
		if s.Named != nil && s.Named(name) != "" {
			name = "/K"
		}
		if s.Named != nil && s.Named(name) != "" {
			name = "vscode-remote://ssh-remote+h/K"
		}
		return map[string]any{name: x}, map[string]any{name: y}
	}
	x, y := map[string]any{}, map[string]any{}
	for _, k := range s.Keys {
		if k.Required || len(s.Keys) == 1 {
			x[k.Name], y[k.Name] = samples(t, k.Spec)
		}
	}
	if len(x) == 0 {
		k := s.Keys[0]
		x[k.Name], y[k.Name] = samples(t, k.Spec)
	}
	return x, y
}

// keysBelow calls f for every key that has a value of its own.
func keysBelow(s *keys.Spec, at []string, f func(path []string, s *keys.Spec)) {
	for _, k := range s.Keys {
		path := appendStep(at, k.Name)
		if k.Spec.Kind == keys.KindObject && len(k.Spec.Keys) > 0 {
			keysBelow(k.Spec, path, f)
			if k.Spec.Short == "" {
				continue
			}
		}
		f(path, k.Spec)
	}
}

// Every key can be given by the file, by a variable and by a flag, each
// counting for more than the one before.
func TestEveryKeyByFileEnvironmentAndFlag(t *testing.T) {
	t.Parallel()
	read := func(t *testing.T, file string, environ, flags []string) *File {
		t.Helper()
		set, err := Flags(flags)
		if err != nil {
			t.Fatal(err)
		}
		f, problems, err := Parse("hub.json", []byte(file), nil, append(Environment(environ), set...)...)
		if err != nil {
			t.Fatalf("%v\n%v", err, problems)
		}
		for _, s := range f.Servers {
			if s.Err == nil {
				continue
			}
			if !slices.Contains([]string{"mcpServers.x", "mcpServers.x.type", "mcpServers.x.tls", "mcpServers.x.headersFrom"}, s.Err.Key) { // which stand alone here
				t.Fatal(s.Err)
			}
			s.Err.File, s.Err.Line, s.Err.Col = "", 0, 0
		}
		f.Sum, f.src, f.tree = "", nil, nil
		return f
	}
	n := 0
	try := func(path []string, s *keys.Spec) {
		if slices.Contains([]string{"toolsets", "clients", "projects"}, path[0]) { // they name what has to be there: see TestToolsets
			return
		}
		if path[0] == "policy" || jsonc.FormatKey(path) == "http.tokens" || jsonc.FormatKey(path) == "http.issuers" || s.Kind == keys.KindChoice && len(s.Choices) == 1 { // which nothing could differ in
			return
		}
		n++
		t.Run(jsonc.FormatKey(path), func(t *testing.T) {
			var x, y any
			if s != keys.EndpointSpec {
				x, y = samples(t, s)
			}
			if s.Short != "" {
				x, y = samples(t, s.Find(s.Short).Spec)
			}
			if s == keys.UrlSpec {
				x, y = "https://a.example/", "https://b.example/"
			}
			if s == keys.EndpointSpec {
				x, y = "https://a.example/mcp", "https://b.example/mcp"
			}
			a, b := setting{path, x}, setting{path, y}
			// Without it the file below would have no such server.
			base := `{"mcpServers":{"x":{"command":"/bin/true"}}}`
			with := func(s setting) string {
				if path[0] != "mcpServers" {
					return strings.TrimSuffix(base, "}") + "," + s.file()[1:]
				}
				entry := nested(path[2:], s.value).(map[string]any)
				for k, v := range map[string]any{"command": "/bin/true"} {
					if entry[k] == nil && path[2] != "url" {
						entry[k] = v
					}
				}
				b, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"x": entry}})
				return string(b)
			}
			below := base
			if path[0] == "mcpServers" && path[2] == "url" {
				below = `{"mcpServers":{"x":{}}}`
			}
			want, other := read(t, with(a), nil, nil), read(t, with(b), nil, nil)
			if reflect.DeepEqual(want, other) {
				t.Fatalf("%s and %s make no difference", with(a), with(b))
			}
			for _, have := range []struct {
				name string
				f    *File
			}{
				{"a variable", read(t, below, []string{a.variable()}, nil)},
				{"a variable over the file", read(t, with(b), []string{a.variable()}, nil)},
				{"a flag", read(t, below, nil, []string{a.flag()})},
				{"a flag over the file", read(t, with(b), nil, []string{a.flag()})},
				{"a flag over a variable", read(t, below, []string{b.variable()}, []string{a.flag()})},
			} {
				if !reflect.DeepEqual(have.f, want) {
					t.Errorf("%s: %s, %s\nhave %+v\nwant %+v", have.name, a.variable(), a.flag(), have.f, want)
				}
			}
		})
	}
	keysBelow(keys.Table, nil, func(path []string, s *keys.Spec) {
		if path[0] == "mcpServers" {
			keysBelow(keys.Entry, []string{"mcpServers", "x"}, try)
			return
		}
		try(path, s)
	})
	if n < 40 {
		t.Errorf("only %d keys were tried", n)
	}
}

// What opens something stands in the file, if it can be read.
func TestKeysOfTheFileAlone(t *testing.T) {
	t.Parallel()
	for _, key := range []string{`policy={"protected":["/x"]}`, `policy.rules=[]`, `http.tokens=[]`, `http={"tokens":[{"name":"a","env":"A"}]}`} {
		set, err := Flags([]string{key})
		if err != nil {
			t.Fatal(err)
		}
		name, value, _ := strings.Cut(key, "=")
		variable := "MCPHUB_" + strings.ToUpper(strings.ReplaceAll(name, ".", "__")) + "=" + value
		for _, above := range [][]Setting{set, Environment([]string{variable})} {
			f, problems, err := Parse("hub.json", []byte(`{"mcpServers":{}}`), nil, above...)
			if f != nil || err == nil || !strings.Contains(fmt.Sprint(problems), "is read from hub.json only") {
				t.Errorf("%s: %v %v", key, err, problems)
			}
		}
	}
}

// What is wrong with a setting is said with the name of what gave it.
func TestProblemsOfSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ variable, flag, want string }{
		{"MCPHUB_ROOTS__TIMEOUT=soon", "", `MCPHUB_ROOTS__TIMEOUT:1:1: error: roots.timeout: "soon" is no duration`},
		{"MCPHUB_ROOTS__TIMOUT=5s", "", `MCPHUB_ROOTS__TIMOUT:1:1: warning: roots.timout: unknown key "timout"; did you mean "timeout"?`},
		{"MCPHUB_EXPOS=search", "", `MCPHUB_EXPOS:1:1: warning: expos: unknown key "expos"; did you mean "expose"?`},
		{"MCPHUB_LIMITS={\"calls\": }", "", `MCPHUB_LIMITS:1:`},
		{"MCPHUB_MCPSERVERS__GIT__DISABLED=true", "", `MCPHUB_MCPSERVERS__GIT__DISABLED:1:1: error: the servers are given as one object: MCPHUB_MCPSERVERS={...}`},
		{"MCPHUB_MCPSERVERS={\n\"a b\\u0000\":{}}", "", `MCPHUB_MCPSERVERS:2:1: error`},
		{"", "limits.calls=many", `--set limits.calls:1:1: error: limits.calls: found a string, want a whole number`},
		{"", "roots.when.failed=alow", `--set roots.when.failed:1:1: error: roots.when.failed: found "alow", want "allow" or "deny"; did you mean "allow"?`},
	} {
		var above []Setting
		if c.variable != "" {
			above = Environment([]string{c.variable})
		} else {
			above, _ = Flags([]string{c.flag})
		}
		_, problems, _ := Parse("hub.json", []byte(`{"mcpServers":{"a":{"builtin":"files"}}}`), nil, above...)
		found := false
		for _, p := range problems {
			found = found || strings.HasPrefix(p.String(), c.want)
		}
		if !found {
			t.Errorf("%s%s: %v\nwant %s", c.variable, c.flag, problems, c.want)
		}
	}
}

// Variables of the hub that are no keys, and the keys of others, are none.
func TestVariablesThatAreNoKeys(t *testing.T) {
	t.Parallel()
	have := Environment([]string{"MCPHUB_CONFIG=/x", "MCPHUB_ROOTS=/x", "MCPHUB_PROJECT_ROOT=/x", "MCPHUB_GUARDIAN=1", "MCPHUB_INSTANCE=1", "MCPHUB_WORKDIR=/x", "MCPHUB_FLEET_NAME=x", "PATH=/bin"})
	if len(have) != 0 {
		t.Errorf("%+v", have)
	}
}

// An empty variable is none, whichever key it names, and a flag that is empty is one.
func TestEmptyVariables(t *testing.T) {
	t.Parallel()
	var all []string
	for _, name := range keys.Table.Names() {
		all = append(all, "MCPHUB_"+strings.ToUpper(name)+"=", "MCPHUB_"+strings.ToUpper(name)+"__X=")
	}
	if got := Environment(all); len(got) > 0 {
		t.Errorf("%v", got)
	}
	if got := Environment([]string{"MCPHUB_SANDBOX=off"}); len(got) != 1 {
		t.Errorf("the control: %v", got)
	}
	if got, err := Flags([]string{"sandbox="}); err != nil || len(got) != 1 {
		t.Errorf("--set sandbox=: %v, %v", got, err)
	}
}

func TestFlagsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "=", "a", "a.=1", ".a=1", `a["x=1`, `a[x]=1`, "a..b=1"} {
		if have, err := Flags([]string{text}); err == nil {
			t.Errorf("%q: %+v", text, have)
		}
	}
	have, err := Flags([]string{`mcpServers["my files.x"].env={"A":"b=c"}`})
	if err != nil || !reflect.DeepEqual(have[0].path, []string{"mcpServers", "my files.x", "env"}) || have[0].text != `{"A":"b=c"}` {
		t.Errorf("%+v %v", have, err)
	}
}
