package operation

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
	"mcphub/internal/audit"
	"mcphub/internal/audit/trail"
)

// independent has the verifier of another language check a folder.
func independent(w *world.World, n world.Node, dir string, heads ...string) (said string, ok bool) {
	w.T.Helper()
	script := world.Source("e2e", "clients", "verify-audit.mjs")
	b, err := exec.Command(n.Program, append([]string{script, dir}, heads...)...).CombinedOutput()
	return string(b), err == nil
}

// What a hub recorded is whole for its own verifier and for one that knows the documented format only. What is changed in it both
// find: see TestTwoVerifiersAgree.
func TestARecordCanBeProvedByAnotherProgram(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	config := w.Config(obj{"rec": w.Recorder("rec")})
	for range 2 {
		s := w.Serve(config, ide.Folders(w.Project))
		s.Handshake()
		for range 10 {
			s.MustCall("rec__echo", `{"text":"hello"}`)
			s.MustCallArgs("rec__echo", obj{"path": filepath.Join(w.Project, "hello.txt")})
		}
		s.Denied("rec__echo", world.Raw(t, obj{"path": filepath.Join(w.Outside, "secret.txt")}), filepath.Join(w.Outside, "secret.txt"), w.Project)
		s.End(world.StopBound)
	}
	dir := w.AuditDir()
	said, ok := independent(w, n, dir)
	if !ok || !strings.HasPrefix(said, "whole: 2 logs") {
		t.Fatalf("the other program: %s", said)
	}
	out, code := w.Command("audit", "verify")
	head := out[strings.LastIndex(out, " ")+1:]
	if code != 0 || !strings.Contains(said, strings.TrimSpace(head)) {
		t.Fatalf("%d: %s", code, out)
	}
	all, err := trail.Decisions(dir, trail.Filter{})
	world.Must(t, err)
	if len(all) != 42 {
		t.Errorf("%d decisions, want 42", len(all))
	}
	denied, err := trail.Decisions(dir, trail.Filter{Denied: true})
	world.Must(t, err)
	if len(denied) != 2 || len(denied[0].Findings) != 1 || denied[0].Findings[0].Path != filepath.Join(w.Outside, "secret.txt") || denied[0].Findings[0].Inside {
		t.Errorf("%+v", denied)
	}
	for i := range all {
		if d := &all[i]; d.Decision == "allow" && (d.Outcome == nil || d.Outcome.Result != audit.ResultOK) {
			t.Errorf("no outcome, or a bad one: %s", d.Raw)
		}
	}
	if said, ok := independent(w, n, dir, strings.Repeat("0", 64)); ok {
		t.Errorf("a head that is not there: %s", said)
	}
	if said, ok := independent(w, n, dir, strings.TrimSpace(head)); !ok {
		t.Errorf("a head that is there: %s", said)
	}
}
