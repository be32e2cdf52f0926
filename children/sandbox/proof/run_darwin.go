package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// SandboxExec is the program that applies profiles.
const SandboxExec = "/usr/bin/sandbox-exec"

// patience is how long one process may take for all calls.
const patience = 20 * time.Second

// Run tries all ways, and returns nil if the profile holds. profile returns the text of one in which in is the root, with its Withheld,
// and program may be read and run.
func Run(profile func(in, program string) (string, error)) error {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return err
	}
	free, err := tryAll(program, nil)
	if err != nil {
		return fmt.Errorf("the calls could not be made without a profile: %w", err)
	}
	held, err := tryAll(program, profile)
	if err != nil {
		return fmt.Errorf("sandbox-exec could not be used, as when the hub itself runs in a sandbox: %w", err)
	}
	return Judge(Ways(), free, held)
}

// tryAll has a process make all calls in a tree of their own.
func tryAll(program string, profile func(in, program string) (string, error)) (came []string, err error) {
	dir, err := os.MkdirTemp("/private/tmp", "mcp-proof-*") // short: the name of a socket ends at 104 bytes
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	socket, err := buildRoot(in, out)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	argv := Command(program)
	if profile != nil {
		text, err := profile(in, program)
		if err != nil {
			return nil, err
		}
		argv = append([]string{SandboxExec, "-p", text}, argv...)
	}
	victim, release, err := Wait(program)
	if err != nil {
		return nil, err
	}
	defer release()
	var calls []Call
	for _, w := range Ways() {
		calls = append(calls, w.Fill(in, out, strconv.Itoa(victim)))
	}
	return Make(argv, calls)
}

// Command returns the command line of a program that makes calls.
func Command(program string) []string { return []string{program, subcommand} }

// buildRoot makes the root, with links in it, the folder beside it, and a socket there.
func buildRoot(in, out string) (io.Closer, error) {
	var errs []error
	for _, dir := range []string{in, in + "/kept", out} {
		errs = append(errs, os.Mkdir(dir, 0o700))
	}
	files := []string{in + "/a", in + "/b", in + "/kept/hub.json"}
	for _, name := range []string{"secret", "written", "linked", "cloned", "moved", "swapped", "exchanged", "mode", "flags", "attribute"} {
		files = append(files, filepath.Join(out, name))
	}
	for _, file := range files {
		errs = append(errs, os.WriteFile(file, []byte("x"), 0o600))
	}
	errs = append(errs, os.WriteFile(out+"/program", []byte("#!/bin/sh\nexit 0\n"), 0o700), //nolint:gosec // it is run
		os.Symlink("../out/secret", in+"/secret"), os.Symlink("../out", in+"/link"))
	l, err := net.Listen("unix", out+"/sock")
	return l, errors.Join(append(errs, err)...)
}

// Wait starts a process that does nothing until release is called.
func Wait(program string) (pid int, release func(), err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	p, err := os.StartProcess(program, Command(program), &os.ProcAttr{Files: []*os.File{r, nil, nil}})
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return 0, nil, err
	}
	return p.Pid, func() {
		_ = w.Close()
		_ = p.Kill() // it may have been stopped
		_, _ = p.Wait()
	}, nil
}

// Make starts a program that makes calls, and returns what came of them.
func Make(argv []string, calls []Call) (came []string, err error) {
	asked, err := json.Marshal(calls)
	if err != nil {
		return nil, err
	}
	var said, complaint bytes.Buffer
	if err := runToEnd(argv, asked, &said, &complaint); err != nil {
		return nil, fmt.Errorf("%w: %.300s", err, strings.TrimSpace(complaint.String()))
	}
	if err := json.Unmarshal(said.Bytes(), &came); err != nil {
		return nil, err
	}
	return came, nil
}

// runToEnd runs a program to its end.
func runToEnd(argv []string, stdin []byte, stdout, stderr *bytes.Buffer) error {
	var theirs, ours [3]*os.File
	defer func() {
		for _, f := range append(theirs[:], ours[:]...) {
			_ = f.Close() // some are closed already
		}
	}()
	for i := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		if theirs[i], ours[i] = w, r; i == 0 {
			theirs[i], ours[i] = r, w
		}
	}
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: theirs[:]})
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		return err
	}
	end := time.AfterFunc(patience, func() { _ = p.Kill() })
	defer end.Stop()
	read := make(chan error, 2)
	go func() { _, err := stdout.ReadFrom(ours[1]); read <- err }()
	go func() { _, err := stderr.ReadFrom(ours[2]); read <- err }()
	_, _ = ours[0].Write(stdin) // who does not read it says so by its status
	_ = ours[0].Close()
	state, err := p.Wait()
	if err = errors.Join(err, <-read, <-read); err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return err
}

// Child makes the calls that it reads from stdin, and returns the status with which the program ends.
func Child() int {
	var calls []Call
	if err := json.NewDecoder(os.Stdin).Decode(&calls); err != nil {
		return 1
	}
	came := make([]string, len(calls))
	for i, c := range calls {
		if err := performCall(c); err != nil {
			came[i] = err.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(came); err != nil {
		return 1
	}
	return 0
}
