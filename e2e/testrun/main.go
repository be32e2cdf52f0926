package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	missed := flag.String("missed", "", "a file for the tests that lacked something")
	prove := flag.String("prove", "", "such a file: run its tests, and fail if one lacks something or does not run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := runTests(ctx, os.Stdout, ".", *missed, *prove, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		code = max(code, 1)
	}
	stop()
	os.Exit(code)
}

// runTests runs go test in a folder, and gives the code to exit with.
func runTests(ctx context.Context, w io.Writer, dir, missed, prove string, args []string) (code int, err error) {
	var lines []string
	if prove != "" {
		text, err := os.ReadFile(prove)
		if err != nil {
			return 1, err
		}
		if lines = strings.Split(strings.TrimSpace(string(text)), "\n"); lines[0] == "" {
			return 0, nil
		}
		args = append(args, rerunArgs(lines)...)
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go test ends its tests then, and says so
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	r := newReport(w)
	err = r.readEvents(out)
	ended := cmd.Wait()
	r.printEnd()
	if prove != "" {
		r.proveLines(lines)
	}
	var exit *exec.ExitError
	switch {
	case errors.As(ended, &exit):
		code = max(exit.ExitCode(), 1) // -1 is a signal
	case ended != nil:
		return 1, errors.Join(err, ended)
	case r.failed > 0:
		code = 1
	case r.ran == 0:
		return 1, errors.Join(err, errors.New("no test ran"))
	}
	if missed != "" {
		err = errors.Join(err, os.WriteFile(missed, []byte(r.missedLines()), 0o600))
	}
	return code, err
}
