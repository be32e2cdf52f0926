package kernel

import (
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// TestAServerForEverybody: a process with "share": "all" and no word of a sandbox opens the configured roots. Where there are none, neither
// the project of a session nor the home folder, for a client without roots as well; its own folder it does. The control has its sandbox off.
func TestAServerForEverybody(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	for name, tc := range map[string]struct {
		sandbox    string
		configured bool
		without    bool // the client gives no roots
		reads      [3]bool
		kernel     string
	}{
		"nothing configured":    {kernel: "held"},
		"a client without":      {without: true, kernel: "held"},
		"required":              {sandbox: "required", kernel: "held"},
		"configured roots":      {configured: true, reads: [3]bool{false, false, true}, kernel: "held"},
		"off":                   {sandbox: "off", reads: [3]bool{true, true, true}},
		"off, a client without": {sandbox: "off", without: true, reads: [3]bool{true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			kid, top := obj{"command": world.Bin.Opener, "args": []string{}, "paths": obj{"mode": "off"}, "share": "all"}, obj{}
			if tc.sandbox != "" {
				kid["sandbox"] = tc.sandbox
			}
			if tc.configured {
				top["roots"] = obj{"fallback": []string{w.Outside}}
			}
			private := w.Write("home/notes.txt", "written at home\n")
			o := ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"kid": kid}, top)}, Env: w.Env(), Capabilities: `{}`}
			if !tc.without {
				o.Capabilities, o.Roots = ide.DefaultCapabilities, ide.Folders(w.Project)
			}
			s := w.Start(o)
			s.Handshake()
			s.AwaitTool("kid__shell")
			run := func(command string) string {
				return s.MustCall("kid__shell", world.Raw(t, obj{"command": command})).Text
			}
			for i, file := range []struct{ path, text string }{{w.Path("project", "hello.txt"), "hello from the project"}, {private, "written at home"}, {w.Path("outside", "secret.txt"), world.SecretText}} {
				if said := run("cat " + file.path + "; true"); strings.Contains(said, file.text) != tc.reads[i] {
					t.Errorf("%s: %s", file.path, said)
				}
			}
			if said := run("echo mine > note && cat note && rm note"); !tc.configured && !strings.Contains(said, "mine") {
				t.Errorf("in its own folder: %s", said)
			}
			if got := s.MustCall("get-roots", `{}`).Text; strings.Contains(got, `"kernel": "held"`) != (tc.kernel != "") {
				t.Errorf("get-roots says %s", got)
			}
		})
	}
}
