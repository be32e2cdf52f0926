//go:build unix

package stdio

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A Console is the controlling terminal of this process.
type Console struct{ *os.File }

// OpenConsole opens the controlling terminal. It must be the one that standard
// input and output are, and this process must have it: else someone else sits
// there, or no one.
func OpenConsole() (*Console, error) {
	if !IsTerminal(os.Stdin) || !IsTerminal(os.Stdout) {
		return nil, errors.New("an answer is taken at a terminal only: standard input and output must both be one")
	}
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("an answer is taken at a terminal only, and this process has none: %w", err)
	}
	t := &Console{f}
	if err := t.checkMine(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return t, nil
}

func (t *Console) checkMine() error {
	if !IsTerminal(t.File) {
		return errors.New("/dev/tty is no terminal")
	}
	group, err := unix.IoctlGetInt(int(t.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return fmt.Errorf("whose terminal it is cannot be told: %w", err)
	}
	if group != unix.Getpgrp() {
		return errors.New("approve must run in the foreground of its terminal")
	}
	var own, in unix.Stat_t
	if err := unix.Fstat(int(os.Stdin.Fd()), &in); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	if err := unix.Fstat(int(os.Stdout.Fd()), &own); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	if in.Rdev != own.Rdev {
		return errors.New("standard input and output are two terminals")
	}
	return nil
}

// Forget drops what was typed and not read yet.
func (t *Console) Forget() error { return flushInput(int(t.Fd())) }
