package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// startGrandchild leaves a process behind that a hub can only end through the process group.
func startGrandchild(h habits) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"-hold"}
	if h.ignoreTerm {
		args = append(args, "-ignore-term")
	}
	cmd := exec.Command(self, args...)
	// Its stdout is the recorder's own: a hub that waits for the end of the pipe would wait for ever.
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	s := thisStart()
	s.Grandchild = cmd.Process.Pid
	return appendState(s)
}

// runWrapped stands in front of a real server: its stdin is recorded and passed on, its stdout and stderr are its own. wrap is
// a JSON array: the command and its first arguments. The exit status comes from the server. Where RECORDER_TAP names a
// file, that gets both directions line by line, each after "> " if it reaches the server or "< ", and the process id.
func runWrapped(wrap string, args []string) int {
	if err := noteStart(); err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		return 2
	}
	var command []string
	if err := json.Unmarshal([]byte(wrap), &command); err != nil || len(command) == 0 {
		fmt.Fprintln(os.Stderr, "recorder: RECORDER_WRAP is not a JSON array of strings")
		return 2
	}
	cmd := exec.Command(command[0], append(command[1:], args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// The server may be a recorder itself: it must not stand in front of another, and so on for ever.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "RECORDER_") })
	in, err := cmd.StdinPipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		return 2
	}
	tap, err := openTap(os.Getenv("RECORDER_TAP"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		return 2
	}
	if tap != nil {
		cmd.Stdout = &tapped{tap: tap, to: os.Stdout}
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		return 2
	}
	go func() {
		err := eachLine(os.Stdin, func(line []byte) {
			tap.note("> ", line)
			_, _ = in.Write(line)
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "recorder:", err)
		}
		_ = in.Close() // the server sees the end of its stdin when the recorder sees it
	}()
	if err := cmd.Wait(); err != nil {
		return max(cmd.ProcessState.ExitCode(), 1)
	}
	return 0
}

// tap is a file that gets whole lines, in the order in which they passed.
type tap struct {
	mu sync.Mutex // one line at a time
	to *os.File
}

// openTap gives nil for no name.
func openTap(name string) (*tap, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &tap{to: f}, err
}

// note writes a line down before it goes on: the answer to it is noted later.
func (t *tap) note(mark string, line []byte) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.to, "%s%d %s\n", mark, os.Getpid(), bytes.TrimRight(line, "\n")) // a test finds out what is missing
}

// tapped passes on what a server writes, line by line.
type tapped struct {
	tap  *tap
	to   io.Writer
	rest []byte
}

// Write implements io.Writer.
func (t *tapped) Write(b []byte) (int, error) {
	t.rest = append(t.rest, b...)
	for {
		end := bytes.IndexByte(t.rest, '\n')
		if end < 0 {
			return len(b), nil
		}
		t.tap.note("< ", t.rest[:end])
		if _, err := t.to.Write(t.rest[:end+1]); err != nil {
			return 0, err
		}
		t.rest = t.rest[end+1:]
	}
}
