package printable

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestCmdReadsBack: cmd and the program that it runs read each word as it was.
func TestCmdReadsBack(t *testing.T) {
	t.Parallel()
	words := []string{`C:\work\app`, `C:\My Projects (2024)\`, `a\\`, "it's", "a,b", "@x", "~", "a&b", "a|b>c<d^e", "(x)", "ü é", "x;y=z", "--", "!x!", `a b\c`}
	line := CommandLine(append([]string{os.Args[0], "-test.run=TestTellsItsWords", "--"}, words...))
	cmd := exec.Command("cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /s /c "` + line + `"`}
	cmd.Env = append(os.Environ(), "TELL_WORDS=1")
	out, err := cmd.Output()
	if want := fmt.Sprintf("%q", words); err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v: %s\nread as %s\nwant %s", err, line, out, want)
	}
}

// TestTellsItsWords is the program of TestCmdReadsBack. By itself it does nothing.
func TestTellsItsWords(*testing.T) {
	for i, arg := range os.Args {
		if arg == "--" && os.Getenv("TELL_WORDS") != "" {
			fmt.Printf("%q\n", os.Args[i+1:])
			return
		}
	}
}
