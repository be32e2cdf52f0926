package world

import (
	"errors"
	"os/exec"

	"mcphub/internal/consent"
)

// AuditDir is where a hub of this world records by default.
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

// Accepts answers what waits, as mcphub reload does at a terminal; false when nothing waits.
func Accepts(store *consent.Store) bool {
	return Within(WaitLimit, func() bool { // a hub may just be looking at a newer text
		all, err := store.Questions()
		return err == nil && len(all) == 1 && store.Accept(all[0].ID, all[0].Digest) == nil
	})
}
