package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/ide"
)

// TestTheSandboxThatNobodyAskedFor: a process is held to the roots of its client without a word in its entry, where there
// are roots, and where neither its entry nor the whole file says otherwise.
func TestTheSandboxThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	requireLandlock(t)
	for name, tc := range map[string]struct {
		top   obj    // of hub.json
		entry string // its sandbox; "" it says nothing
		env   string // of the hub
		roots bool
		held  bool
		state string // what status says of it; "" nothing
	}{
		"with roots":           {roots: true, held: true, state: "held"},
		"without":              {state: "none"},
		"off in the entry":     {roots: true, entry: "off"},
		"off in the file":      {roots: true, top: obj{"sandbox": "off"}},
		"off by a variable":    {roots: true, env: "MCPHUB_SANDBOX=off"},
		"on in spite of that":  {roots: true, top: obj{"sandbox": "off"}, entry: "auto", held: true, state: "held"},
		"a rule without place": {roots: true, top: obj{"policy": obj{"rules": []obj{{"then": "allow", "if": obj{"tools": []string{"nothing"}}}}}}, state: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			kid := obj{"command": bin.opener, "args": []string{}, "paths": obj{"mode": "off"}}
			if tc.entry != "" {
				kid["sandbox"] = tc.entry
			}
			o := ide.Options{Command: mcphub(t), Args: []string{"serve", "--config", w.config(obj{"kid": kid}, tc.top)}, Env: w.env()}
			if tc.env != "" {
				o.Env = append(o.Env, tc.env)
			}
			if o.Capabilities = `{}`; tc.roots {
				o.Capabilities, o.Roots = ide.DefaultCapabilities, ide.Folders(w.project)
			}
			s := w.start(o)
			s.initialize()
			s.awaitTool("kid__shell")
			read := s.call("kid__shell", raw(t, obj{"command": "cat " + w.path("outside", "secret.txt") + " " + w.path("project", "hello.txt")})).Text
			if !strings.Contains(read, "hello from the project") || strings.Contains(read, secretText) == tc.held {
				t.Errorf("it reads %q", read)
			}
			got := s.call("get-roots", `{}`).Text
			if tc.state == "" && strings.Contains(got, `"kernel"`) || tc.state != "" && !strings.Contains(got, `"kernel": "`+tc.state+`"`) {
				t.Errorf("get-roots says %s", got)
			}
			s.end(stopBound)
			files, err := filepath.Glob(w.path("home", "state", "mcphub", "audit", "*.jsonl"))
			must(t, err)
			line := ""
			for _, file := range files {
				text, err := os.ReadFile(file)
				must(t, err)
				line += string(text)
			}
			if !strings.Contains(line, "kid") || tc.state == "" && strings.Contains(line, `"kernel"`) || tc.state != "" && !strings.Contains(line, `"kernel":"`+tc.state+`"`) {
				t.Errorf("the record says %s", line)
			}
		})
	}
}
