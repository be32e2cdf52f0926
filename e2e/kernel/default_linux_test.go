package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// TestTheSandboxThatNobodyAskedFor: a process is held to the roots of its client without a word in its entry, if there
// are roots, and where neither its entry nor the whole file says otherwise.
func TestTheSandboxThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for name, tc := range map[string]struct {
		top   obj    // of hub.json
		entry string // its sandbox; "" it says nothing
		env   string // of the hub
		roots bool
		held  bool
		state string // what status says about it; "" nothing
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
			w := world.New(t)
			kid := obj{"command": world.Bin.Opener, "args": []string{}, "paths": obj{"mode": "off"}}
			if tc.entry != "" {
				kid["sandbox"] = tc.entry
			}
			o := ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"kid": kid}, tc.top)}, Env: w.Env()}
			if tc.env != "" {
				o.Env = append(o.Env, tc.env)
			}
			if o.Capabilities = `{}`; tc.roots {
				o.Capabilities, o.Roots = ide.DefaultCapabilities, ide.Folders(w.Project)
			}
			s := w.Start(o)
			s.Handshake()
			s.AwaitTool("kid__shell")
			read := s.MustCall("kid__shell", world.Raw(t, obj{"command": "cat " + w.Path("outside", "secret.txt") + " " + w.Path("project", "hello.txt")})).Text
			if !strings.Contains(read, "hello from the project") || strings.Contains(read, world.SecretText) == tc.held {
				t.Errorf("it reads %q", read)
			}
			got := s.MustCall("get-roots", `{}`).Text
			if tc.state == "" && strings.Contains(got, `"kernel"`) || tc.state != "" && !strings.Contains(got, `"kernel": "`+tc.state+`"`) {
				t.Errorf("get-roots says %s", got)
			}
			s.End(world.StopBound)
			files, err := filepath.Glob(w.Path("home", "state", "mcphub", "audit", "*.jsonl"))
			world.Must(t, err)
			line := ""
			for _, file := range files {
				text, err := os.ReadFile(file)
				world.Must(t, err)
				line += string(text)
			}
			if !strings.Contains(line, "kid") || tc.state == "" && strings.Contains(line, `"kernel"`) || tc.state != "" && !strings.Contains(line, `"kernel":"`+tc.state+`"`) {
				t.Errorf("the record says %s", line)
			}
		})
	}
}
