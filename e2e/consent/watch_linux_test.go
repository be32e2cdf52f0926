package consent

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// TestWatchAtATerminal: status --watch and audit show -f refresh in place, a decision and its outcome in one row, until Ctrl-C,
// and give the terminal back.
func TestWatchAtATerminal(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Write("project/one.txt", "one")
	env := w.Env()
	config := w.Config(obj{"files": obj{"builtin": "files"}}, nil)
	at := func(args ...string) *world.Console {
		return w.Approver(env, func(c *exec.Cmd) { c.Args = append([]string{c.Args[0]}, args...) })
	}
	const open, home, closed = `\x1b\[\?1049h`, `\x1b\[H`, `\x1b\[\?1049l`

	status := at("status", "--watch")
	status.Sees(1, open)
	status.Sees(1, "no hub is running")
	decisions := at("audit", "show", "-f")
	decisions.Sees(1, open)
	c, err := ide.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", config}, Dir: w.Home, Env: env, Roots: ide.Folders(w.Project)})
	world.Must(t, err)
	t.Cleanup(func() { c.Close(world.WaitLimit) })
	_, err = c.Initialize(t.Context())
	world.Must(t, err)
	status.Sees(1, `hub \d+, up`)
	status.Sees(2, `hub \d+, up`)
	r, err := c.Tool(t.Context(), "files__read_text_file", world.PathArgs(t, w.Path("project", "one.txt")))
	world.Must(t, err)
	if r.IsError {
		t.Fatalf("the call failed: %+v", r)
	}
	decisions.Sees(1, `read_text_file: allow[^\n]* -> ok in `)
	decisions.Sees(2, home)
	for _, s := range []*world.Console{status, decisions} {
		s.Types("\x03")
		<-s.Ended
		s.Sees(1, closed)
		if !s.Cmd.ProcessState.Success() {
			t.Errorf("%s ends with %s:\n%s", s.Cmd, s.Cmd.ProcessState, s.Shown())
		}
	}
	// In one row: no page shows the decision twice.
	for page := range strings.SplitSeq(decisions.Shown(), "\x1b[H") {
		if n := len(regexp.MustCompile(`read_text_file: allow`).FindAllString(page, -1)); n > 1 {
			t.Errorf("%d rows for one call:\n%s", n, page)
		}
	}
	// Elsewhere lines are appended, and no sequence for a terminal comes.
	for _, args := range [][]string{{"audit", "show", "-f"}, {"status", "--watch"}} {
		cmd := exec.Command(world.Hub(t), args...)
		cmd.Env, cmd.Dir = env, w.Home
		read, write, err := os.Pipe()
		world.Must(t, err)
		cmd.Stdout = write
		world.Must(t, cmd.Start())
		world.Must(t, write.Close())
		out, want := "", map[string]string{"audit": "read_text_file: allow", "status": "files"}[args[0]]
		for buffer := make([]byte, 4096); !strings.Contains(out, want); {
			n, err := read.Read(buffer)
			if out += string(buffer[:n]); err != nil {
				t.Fatalf("%s ends by itself: %v\n%s", cmd, err, out)
			}
		}
		world.Must(t, cmd.Process.Signal(os.Interrupt))
		rest, _ := io.ReadAll(read)
		if err := cmd.Wait(); err != nil || strings.Contains(out+string(rest), "\x1b") {
			t.Errorf("%s: %v\n%q", cmd, err, out)
		}
	}
}
