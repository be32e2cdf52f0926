package kernel

import (
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// TestWhatAServerChangesOutside: by system calls that open nothing, a server in the default sandbox leaves no program
// that runs with the rights of its owner, and under required it changes no mode outside. Without the sandbox each of these works.
// children/sandbox goes through the calls one by one.
func TestWhatAServerChangesOutside(t *testing.T) {
	world.RequireLandlock(t)
	for _, tc := range []struct {
		name     string
		command  string
		sandbox  string // of the entry; "" it says nothing
		happened func(w *world.World) bool
	}{
		{name: "a shell that runs as its owner", command: "cp /bin/bash sh && chmod u+s sh", happened: func(w *world.World) bool {
			fi, err := os.Stat(w.Path("project", "sh"))
			return err == nil && fi.Mode()&os.ModeSetuid != 0
		}},
		{name: "a key for everybody", sandbox: "required", command: "chmod 666 KEY", happened: func(w *world.World) bool { return mode(w, "home", ".ssh", "id_rsa") != 0o600 }},
	} {
		t.Run(tc.name+" "+tc.sandbox, func(t *testing.T) {
			t.Parallel()
			needs.Line(t, tc.command)
			for _, free := range []bool{true, false} {
				w := world.New(t)
				kid := obj{"command": world.Bin.Opener, "args": []string{}, "paths": obj{"mode": "off"}}
				if free {
					kid["sandbox"] = "off"
				} else if tc.sandbox != "" {
					kid["sandbox"] = obj{"mode": tc.sandbox, "read": []string{world.Bin.Opener}}
				}
				key := w.Write("home/.ssh/id_rsa", world.SecretText)
				hub := w.Config(obj{"kid": kid})
				s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", hub}, Roots: ide.Folders(w.Project), Env: w.Env()})
				s.Handshake()
				s.AwaitTool("kid__shell")
				said := s.MustCallArgs("kid__shell", obj{"command": "cd " + w.Project + "; " + strings.ReplaceAll(tc.command, "KEY", key)}).Text
				switch happened := tc.happened(w); {
				case free && !happened:
					t.Errorf("it does not work without the sandbox, so this shows nothing: %s", said)
				case !free && happened:
					t.Errorf("it comes through: %s", said)
				case !free && !strings.Contains(said, "not permitted"):
					t.Errorf("it was not refused, it failed: %s", said)
				}
				if !free {
					own := s.MustCallArgs("kid__shell", obj{"command": "cd " + w.Project + " && touch -d @9 own && chmod 640 own && stat -c '%a %Y' own"}).Text
					if !strings.Contains(own, "640 9") {
						t.Errorf("it cannot change what is its own: %s", own)
					}
				}
				s.End(world.StopBound)
			}
		})
	}
}

func mode(w *world.World, elem ...string) os.FileMode {
	fi, err := os.Stat(w.Path(elem...))
	world.Must(w.T, err)
	return fi.Mode().Perm()
}
