package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
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

// runWrapped stands in front of a real server: its stdin is recorded and passed on, its stdout and stderr are its own.
// wrap is a JSON array: the command and its first arguments. The exit status is that of the server.
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
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		return 2
	}
	go func() {
		err := eachLine(os.Stdin, func(line []byte) { _, _ = in.Write(line) })
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
