package world

import (
	"bufio"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/oauthtest"
)

var page = regexp.MustCompile(`^https?://\S+$`)

// AuthWith is auth with more in the environment.
func (w *World) AuthWith(env []string, visit func(address string), args ...string) (said string, err error) {
	w.T.Helper()
	return w.Visiting(env, visit, append([]string{"auth"}, args...)...)
}

// Visiting is AuthWith for any command.
func (w *World) Visiting(env []string, visit func(address string), args ...string) (said string, err error) {
	w.T.Helper()
	cmd := exec.Command(Hub(w.T), args...)
	cmd.Env, cmd.Dir = w.Env(env...), w.Home
	out, err := cmd.StdoutPipe()
	Must(w.T, err)
	cmd.Stderr = cmd.Stdout
	Must(w.T, cmd.Start())
	var b strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		b.WriteString(lines.Text() + "\n")
		if page.MatchString(lines.Text()) && visit != nil {
			visit(lines.Text())
		}
	}
	err = cmd.Wait()
	return b.String(), err
}

// Visitor opens what a login prints, as a browser does.
func Visitor(t testing.TB) func(address string) {
	return func(address string) {
		if err := oauthtest.Visit(t.Context(), address); err != nil {
			t.Error(err)
		}
	}
}
