package world

import (
	"errors"
	"io"
	"os/exec"
	"testing"

	"mcphub/children/consent"
)

// AuditDir returns the folder in which a hub of this world records by default.
func (w *World) AuditDir() string { return w.Path("home", "state", "mcphub", "audit") }

// Command runs the program under test and gives what it says and its exit status.
func (w *World) Command(args ...string) (out string, code int) {
	w.T.Helper()
	cmd := exec.Command(Hub(w.T), args...)
	cmd.Env, cmd.Dir = w.Env(), w.Home
	b, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		w.T.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// Converse starts a program for the length of a test, with pipes to it and from it. At the end of its input the program must end well.
func Converse(t testing.TB, cmd *exec.Cmd) (in io.Writer, out io.Reader) {
	t.Helper()
	toIt, err := cmd.StdinPipe()
	Must(t, err)
	out, err = cmd.StdoutPipe()
	Must(t, err)
	Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = toIt.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended: %v", cmd, err)
		}
	})
	return toIt, out
}

// Accepts answers what waits, as mcphub reload does at a terminal; false when nothing waits.
func Accepts(store *consent.Store) bool {
	return Within(WaitLimit, func() bool { // a hub may just be looking at a newer text
		all, err := store.Questions()
		return err == nil && len(all) == 1 && store.Accept(all[0].ID, all[0].Digest) == nil
	})
}
