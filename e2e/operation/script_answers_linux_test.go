package operation

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mcphub/e2e/world"
)

func init() { scriptTerminal = answers }

// answers runs a program on a terminal of its own and types a word after each question that ends in "/n]" or "/N]", or in "leave it". What the
// terminal has shown is in the file screen then.
func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: answers WORD PROGRAM ARGS...")
	}
	master, slave := world.PseudoTerminal(ts.Value(hubsKey{}).(*hubs).t)
	program := args[1]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			program = filepath.Join(dir, program)
			break
		}
	}
	cmd := exec.Command(program, args[2:]...)
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "NO_COLOR", "MCPHUB_CONFIG", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	ts.Check(cmd.Start())
	ts.Check(slave.Close())
	limit := time.AfterFunc(world.WaitLimit, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var screen bytes.Buffer
	buf := make([]byte, 4096)
	for typed := 0; ; {
		n, err := master.Read(buf)
		if err != nil { // the last program on it has ended
			break
		}
		screen.Write(buf[:n])
		asked := bytes.Count(bytes.ToLower(screen.Bytes()), []byte("/n]:")) + bytes.Count(bytes.ToLower(screen.Bytes()), []byte("/n] ")) + bytes.Count(screen.Bytes(), []byte("leave it:"))
		for ; typed < asked; typed++ {
			_, err := master.WriteString(args[0] + "\n")
			ts.Check(err)
		}
	}
	text := strings.ReplaceAll(screen.String(), "\r\n", "\n")
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(text), 0o600))
	if err := cmd.Wait(); err != nil {
		ts.Fatalf("%v: %v\n%s", args[1:], err, text)
	}
}
