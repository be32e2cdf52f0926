package kernel

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// A confined server leaves a process behind that hides whose it is: in a session of its own, without a parent and without its
// environment. When the roots narrow, it ends with the server, although another server is older; it would keep the root that was
// taken away. Before that it reads there, which is the control.
func TestWhoHidesLosesTheRootAllTheSame(t *testing.T) {
	t.Parallel()
	world.RequireLandlock(t)
	needs.Line(t, "setsid bash")
	w := world.New(t)
	w.Write("second/data", "of the second root")
	kid := openerEntry(false)(w)
	kid["sandbox"] = obj{"mode": "required", "read": []string{world.Bin.Opener}}
	kid["paths"] = obj{"mode": "off"}
	elder := openerEntry(false)(w)
	s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"elder": world.WithKey(elder, "sandbox", "off"), "kid": kid})},
		Roots: ide.Folders(w.Project, w.Path("second")), Env: w.Env()})
	s.Handshake()
	s.MustCallArgs("elder__shell", obj{"command": "true"})
	said := s.MustCallArgs("kid__shell", obj{"command": "( env -i setsid bash -c 'echo $$ > pid; while :; do cat " + w.Path("second", "data") + " > new; mv new read; done' > /dev/null 2>&1 & ); until [ -s pid ] && [ -s read ]; do :; done; cat pid read"}).Text
	var pid int
	if _, err := fmt.Sscan(said, &pid); err != nil || !strings.Contains(said, "of the second root") {
		t.Fatalf("it does not read there, so this shows nothing: %v %s", err, said)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	s.SetRoots(ide.Folders(w.Project))
	world.Must(t, s.RootsChanged())
	if said := s.MustCallArgs("kid__shell", obj{"command": "cat " + w.Path("second", "data")}).Text; !strings.Contains(said, "denied") {
		t.Errorf("the root is still open: %s", said)
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil && !strings.Contains(string(b), "\nState:\tZ") {
		t.Errorf("what the server has left behind lives, with the root that was taken away:\n%s", b)
	}
}
