package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/internal/audit"
)

// auditDir is where a hub of this world records by default.
func (w *world) auditDir() string { return w.path("home", "state", "mcphub", "audit") }

// command runs the program under test and gives what it says and its exit status.
func (w *world) command(args ...string) (out string, code int) {
	w.t.Helper()
	cmd := exec.Command(mcphub(w.t), args...)
	cmd.Env, cmd.Dir = w.env(), w.home
	b, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		w.t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// independent has the verifier of another language check a folder.
func (w *world) independent(n node, dir string, heads ...string) (said string, ok bool) {
	w.t.Helper()
	script, err := filepath.Abs("clients/verify-audit.mjs")
	must(w.t, err)
	b, err := exec.Command(n.program, append([]string{script, dir}, heads...)...).CombinedOutput()
	return string(b), err == nil
}

// What a hub recorded is whole for its own verifier and for one that knows the
// documented format only; whatever is changed in it both find.
func TestARecordCanBeProvedByAnotherProgram(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	w := newWorld(t)
	config := w.config(obj{"rec": w.recorder("rec")})
	for range 2 {
		s := w.serve(config, ide.Folders(w.project))
		s.initialize()
		for range 10 {
			s.call("rec__echo", `{"text":"hello"}`)
			s.callArgs("rec__echo", obj{"path": filepath.Join(w.project, "hello.txt")})
		}
		s.denied("rec__echo", raw(t, obj{"path": filepath.Join(w.outside, "secret.txt")}), filepath.Join(w.outside, "secret.txt"), w.project)
		s.end(stopBound)
	}
	dir := w.auditDir()
	said, ok := w.independent(n, dir)
	if !ok || !strings.HasPrefix(said, "whole: 2 logs") {
		t.Fatalf("the other program: %s", said)
	}
	out, code := w.command("audit", "verify")
	head := out[strings.LastIndex(out, " ")+1:]
	if code != 0 || !strings.Contains(said, strings.TrimSpace(head)) {
		t.Fatalf("%d: %s", code, out)
	}
	all, err := audit.Decisions(dir, audit.Filter{})
	must(t, err)
	if len(all) != 42 {
		t.Errorf("%d decisions, want 42", len(all))
	}
	denied, err := audit.Decisions(dir, audit.Filter{Denied: true})
	must(t, err)
	if len(denied) != 2 || len(denied[0].Findings) != 1 || denied[0].Findings[0].Path != filepath.Join(w.outside, "secret.txt") || denied[0].Findings[0].Inside {
		t.Errorf("%+v", denied)
	}
	for i := range all {
		if d := &all[i]; d.Decision == "allow" && (d.Outcome == nil || d.Outcome.Result != audit.ResultOK) {
			t.Errorf("no outcome, or a bad one: %s", d.Raw)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	must(t, err)
	for _, file := range files {
		before, err := os.ReadFile(file)
		must(t, err)
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
			must(t, os.WriteFile(file, bytes.Join(tampered, nil), 0o600))
			if said, ok := w.independent(n, dir); ok {
				t.Errorf("%s, %s: the other program found nothing: %s", filepath.Base(file), what, said)
			}
			out, code := w.command("audit", "verify")
			if code != 1 || !strings.Contains(out, dir+string(filepath.Separator)) {
				t.Errorf("%s, %s: exit status %d: %s", filepath.Base(file), what, code, out)
			}
		}
		must(t, os.WriteFile(file, before, 0o600))
	}
	if said, ok := w.independent(n, dir, strings.Repeat("0", 64)); ok {
		t.Errorf("a head that is not there: %s", said)
	}
	if said, ok := w.independent(n, dir, strings.TrimSpace(head)); !ok {
		t.Errorf("a head that is there: %s", said)
	}
}

// Where the record cannot be written, audit.required decides.
func TestARequiredRecordThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, required := range []bool{true, false} {
		w := newWorld(t)
		w.write("file", "") // no folder can be made below it
		s := w.serve(w.config(obj{"rec": w.recorder("rec")}, obj{"audit": obj{"dir": w.path("file", "audit"), "required": required}}), ide.Folders(w.project))
		s.initialize()
		for _, args := range []string{`{"text":"hello"}`, raw(t, obj{"path": filepath.Join(w.project, "hello.txt")})} {
			r := s.await(s.send("rec__echo", args))
			if r.IsError != required || required && !strings.Contains(r.Text, "audit.required") {
				t.Errorf("required %v: %s", required, r.Text)
			}
		}
		if n := calls(w.recorded("rec"), "echo"); (n > 0) == required {
			t.Errorf("required %v: %d calls came through", required, n)
		}
		if text := s.call("get-roots", `{}`).Text; !strings.Contains(text, `"error"`) || !strings.Contains(text, w.path("file", "audit")) {
			t.Errorf("get-roots does not say it: %s", text)
		}
		if !strings.Contains(s.Stderr(), "THE AUDIT LOG CANNOT BE WRITTEN") {
			t.Errorf("nobody was warned: %s", s.Stderr())
		}
		s.end(stopBound)
	}
}
