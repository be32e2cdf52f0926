package operation

import (
	"bytes"
	"os"
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

// What a hub recorded is whole for its own verifier and for one that knows the
// documented format only; whatever is changed in it both find.
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
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	world.Must(t, err)
	for _, file := range files {
		before, err := os.ReadFile(file)
		world.Must(t, err)
		lines := bytes.SplitAfter(before, []byte("\n"))
		lines = lines[:len(lines)-1]
		middle := len(lines) / 2
		changed := bytes.Clone(lines[middle])
		changed[len(changed)/2] ^= 1
		for what, tampered := range map[string][][]byte{
			"changed":  {bytes.Join(lines[:middle], nil), changed, bytes.Join(lines[middle+1:], nil)},
			"removed":  {bytes.Join(lines[:middle], nil), bytes.Join(lines[middle+1:], nil)},
			"doubled":  {bytes.Join(lines[:middle], nil), lines[middle], bytes.Join(lines[middle:], nil)},
			"swapped":  {bytes.Join(lines[:middle-1], nil), lines[middle], lines[middle-1], bytes.Join(lines[middle+1:], nil)},
			"shorter":  {bytes.Join(lines[:len(lines)-1], nil)},
			"inserted": {bytes.Join(lines[:middle], nil), []byte(`{"v":1,"n":1}` + "\n"), bytes.Join(lines[middle:], nil)},
		} {
			world.Must(t, os.WriteFile(file, bytes.Join(tampered, nil), 0o600))
			if said, ok := independent(w, n, dir); ok {
				t.Errorf("%s, %s: the other program found nothing: %s", filepath.Base(file), what, said)
			}
			out, code := w.Command("audit", "verify")
			if code != 1 || !strings.Contains(out, dir+string(filepath.Separator)) {
				t.Errorf("%s, %s: exit status %d: %s", filepath.Base(file), what, code, out)
			}
		}
		world.Must(t, os.WriteFile(file, before, 0o600))
	}
	if said, ok := independent(w, n, dir, strings.Repeat("0", 64)); ok {
		t.Errorf("a head that is not there: %s", said)
	}
	if said, ok := independent(w, n, dir, strings.TrimSpace(head)); !ok {
		t.Errorf("a head that is there: %s", said)
	}
}

// Where the record cannot be written, audit.required decides.
func TestARequiredRecordThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, required := range []bool{true, false} {
		w := world.New(t)
		w.Write("file", "") // no folder can be made below it
		s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}, obj{"audit": obj{"dir": w.Path("file", "audit"), "required": required}}), ide.Folders(w.Project))
		s.Handshake()
		for _, args := range []string{`{"text":"hello"}`, world.Raw(t, obj{"path": filepath.Join(w.Project, "hello.txt")})} {
			r := s.AwaitCall(s.SendCall("rec__echo", args))
			if r.IsError != required || required && !strings.Contains(r.Text, "audit.required") {
				t.Errorf("required %v: %s", required, r.Text)
			}
		}
		if n := world.Calls(w.Recorded("rec"), "echo"); (n > 0) == required {
			t.Errorf("required %v: %d calls came through", required, n)
		}
		if text := s.MustCall("get-roots", `{}`).Text; !strings.Contains(text, `"error"`) || !strings.Contains(text, w.Path("file", "audit")) {
			t.Errorf("get-roots does not say it: %s", text)
		}
		if !world.Within(world.WaitLimit, func() bool { return strings.Contains(s.Stderr(), "THE AUDIT LOG CANNOT BE WRITTEN") }) {
			t.Errorf("nobody was warned: %s", s.Stderr())
		}
		s.End(world.StopBound)
	}
}
