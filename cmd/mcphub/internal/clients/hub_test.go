package clients

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/e2e/seeds"
)

// hubText returns a random hub.json: servers, comments of every kind between
// them, trailing commas, other keys before and behind, its own line ends.
func hubText(t *rapid.T) (text string, names []string) {
	n := 0
	comment := func() string {
		if !rapid.Bool().Draw(t, "comment") {
			return ""
		}
		n++
		return fmt.Sprintf(rapid.SampledFrom([]string{" /*c%d*/", " // c%d\n"}).Draw(t, "kind"), n)
	}
	names = rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 0, 4, rapid.ID[string]).Draw(t, "names")
	var b strings.Builder
	b.WriteString("// the head\n{" + comment() + "\n")
	if rapid.Bool().Draw(t, "roots") {
		b.WriteString("  \"roots\": {\"timeout\": \"5s\"}," + comment() + "\n")
	}
	b.WriteString("  \"mcpServers\": {" + comment() + "\n")
	for i, name := range names {
		fmt.Fprintf(&b, "    %q:%s {\"command\": %q", name, comment(), "run-"+name)
		switch rapid.IntRange(0, 3).Draw(t, "state") {
		case 1:
			b.WriteString("," + comment() + ` "disabled": true`)
		case 2:
			b.WriteString(`, "disabled":` + comment() + ` false`)
		case 3:
			b.WriteString(`, "args": ["x"],`)
		}
		b.WriteString(comment() + "}")
		if i < len(names)-1 || rapid.Bool().Draw(t, "comma") {
			b.WriteString(",")
		}
		b.WriteString(comment() + "\n")
	}
	b.WriteString("  }")
	if rapid.Bool().Draw(t, "names key") {
		b.WriteString("," + comment() + "\n  \"names\": {\"max\": 40}")
	}
	b.WriteString(comment() + "\n}\n" + comment())
	text = b.String()
	if rapid.Bool().Draw(t, "crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if rapid.Bool().Draw(t, "bom") {
		text = "\xef\xbb\xbf" + text
	}
	return text, names
}

// within reports that a is b with bytes taken out.
func within(a, b string) bool {
	i := 0
	for j := 0; i < len(a) && j < len(b); j++ {
		if a[i] == b[j] {
			i++
		}
	}
	return i == len(a)
}

var (
	bareLineEnd = regexp.MustCompile(`[^\r]\n`)
	commentMark = regexp.MustCompile(`c\d+`)
)

func TestHubEditsKeepTheFile(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		text, names := hubText(t)
		if _, _, err := config.Parse("hub.json", []byte(text), nil); err != nil {
			t.Fatalf("the test's own file: %v\n%s", err, text)
		}
		same := func(what string, out []byte, err error) *config.File {
			if err != nil {
				t.Fatalf("%s: %v\n%s", what, err, text)
			}
			if strings.Contains(text, "\r\n") && bareLineEnd.Match(out) {
				t.Fatalf("%s: line ends are mixed\n%q", what, out)
			}
			if strings.HasPrefix(text, "\xef\xbb\xbf") != strings.HasPrefix(string(out), "\xef\xbb\xbf") {
				t.Fatalf("%s: the byte order mark changed", what)
			}
			f, _, err := config.Parse("hub.json", out, nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", what, err, out)
			}
			return f
		}
		entry := edit.Table{{Name: "command", Value: "new"}, {Name: "env", Value: edit.Table{{Name: "A", Value: "b"}}}}
		out, err := AddToHub("hub.json", []byte(text), "NEW", entry)
		f := same("add", out, err)
		if !within(text, string(out)) {
			t.Fatalf("add: something was taken out\n%s\n%s", text, out)
		}
		for i, name := range names {
			if f.Servers[i].Name != name {
				t.Fatalf("add: the order changed\n%s", out)
			}
		}
		if s := f.Server("NEW"); s == nil || s.Command != "new" || s.Env["A"] != "b" {
			t.Fatalf("add: %v\n%s", s, out)
		}
		if len(names) == 0 {
			return
		}
		name := rapid.SampledFrom(names).Draw(t, "name")
		disabled := rapid.Bool().Draw(t, "disabled")
		out, err = DisableInHub("hub.json", []byte(text), name, disabled)
		if f = same("disable", out, err); f.Server(name).Disabled != disabled {
			t.Fatalf("disable: %s is not %v\n%s", name, disabled, out)
		}
		if a, b := commentMark.FindAllString(text, -1), commentMark.FindAllString(string(out), -1); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("disable: comments %v became %v\n%s", a, b, out)
		}
		out, err = RemoveFromHub("hub.json", []byte(text), name)
		if f = same("remove", out, err); f.Server(name) != nil || len(f.Servers) != len(names)-1 {
			t.Fatalf("remove: %s", out)
		}
		if !within(string(out), text) {
			t.Fatalf("remove: something was put in\n%s\n%s", text, out)
		}
		// What stands on another server's line stays, comments too.
		for line := range strings.Lines(text) {
			for _, other := range names {
				if other != name && strings.Contains(line, "run-"+other+`"`) && !strings.Contains(string(out), strings.TrimRight(line, ",\r\n")[:strings.Index(line, "run-")]) {
					t.Fatalf("remove %s: the line of %s changed\n%s", name, other, out)
				}
			}
		}
	})
}

func TestHubEditsRefuse(t *testing.T) {
	t.Parallel()
	command := edit.Table{{Name: "command", Value: "x"}}
	for name, try := range map[string]func() ([]byte, error){
		"bare entries": func() ([]byte, error) {
			return RemoveFromHub("hub.json", []byte(`{"a": {"command": "x"}}`), "a")
		},
		"a name that is empty": func() ([]byte, error) {
			return AddToHub("hub.json", []byte(`{"mcpServers": {}}`), " ", command)
		},
		"broken": func() ([]byte, error) {
			return AddToHub("hub.json", []byte(`{"mcpServers": {`), "b", command)
		},
		"no address": func() ([]byte, error) {
			return AddToHub("hub.json", nil, "b", edit.Table{{Name: "url", Value: "nothing"}})
		},
		"twice": func() ([]byte, error) {
			return RemoveFromHub("hub.json", []byte(`{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`), "a")
		},
	} {
		if out, err := try(); err == nil {
			t.Errorf("%s: %s", name, out)
		}
	}
	out, err := DisableInHub("hub.json", []byte(`{"mcpServers": {"a": {"command": "x", "enabled": true}}}`), "a", true)
	if err != nil || !strings.Contains(string(out), `"enabled": false`) {
		t.Errorf("%s, %v", out, err)
	}
	out, err = DisableInHub("hub.json", []byte(`{"mcpServers": {"a": {"command": "x", "isActive": false}}}`), "a", false)
	if err != nil || !strings.Contains(string(out), `"isActive": true`) {
		t.Errorf("%s, %v", out, err)
	}
	// A name with a blank: it may be given as it is written and as the hub calls it.
	blank, err := AddToHub("hub.json", nil, "my server", command)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"my server", "my-server"} {
		if out, err := DisableInHub("hub.json", blank, name, true); err != nil || !strings.Contains(string(out), `"disabled": true`) {
			t.Errorf("%s: %s, %v", name, out, err)
		}
		if out, err := RemoveFromHub("hub.json", blank, name); err != nil || strings.Contains(string(out), "my") {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
	if _, _, err := config.Parse("hub.json", []byte(FirstHub), os.LookupEnv); err != nil {
		t.Error(err)
	}
}

// TestFirstHub: a new hub.json has the embedded filesystem server, unless a server like it comes along: its tools would be
// there twice.
func TestFirstHub(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entry edit.Table
		want  bool
	}{
		{edit.Table{{Name: "command", Value: "git-server"}}, true},
		{edit.Table{{Name: "command", Value: "npx"}, {Name: "args", Value: []any{"-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "/home/me"}}}, false},
		{edit.Table{{Name: "command", Value: "/usr/bin/mcp-server-filesystem"}}, false},
	} {
		text, _, err := Merge(Target{File: "hub.json", Env: os.LookupEnv}, []Server{{Name: "x", Entry: c.entry}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), `"builtin"`); got != c.want || !strings.Contains(string(text), `"x"`) {
			t.Errorf("%v: embedded %v\n%s", c.entry, got, text)
		}
		if _, _, err := config.Parse("hub.json", text, os.LookupEnv); err != nil {
			t.Error(err)
		}
	}
}
