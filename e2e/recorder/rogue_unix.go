//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// familyMark begins the variable by which a test finds its processes; it is the only one that the barest of them keeps.
const familyMark = "XDG_MCPHUB_E2E="

// startFamily starts one process of each kind that is hard to be rid of. All ignore SIGTERM and hold stdin, stdout and
// stderr; none ever ends by itself.
func startFamily() error {
	for _, member := range []struct {
		role   string // "" holds on
		setsid bool
		bare   bool // no environment but the mark
	}{
		{},                              // in the group
		{setsid: true},                  // outside, with a parent
		{role: "parent", setsid: true},  // outside, with a child of its own outside of that
		{role: "gone"},                  // outside, its parent gone: an orphan
		{role: "gone", bare: true},      // an orphan that nothing tells apart
		{role: "breeder", setsid: true}, // leaves short-lived orphans behind
	} {
		if err := startMember(member.role, member.setsid, member.bare); err != nil {
			return err
		}
	}
	return nil
}

func startMember(role string, setsid, bare bool) error {
	cmd, err := member(role, setsid)
	if err != nil {
		return err
	}
	if bare {
		cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return !strings.HasPrefix(kv, familyMark) })
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if role == "gone" || role == "brief" {
		return cmd.Wait() // what it started is an orphan from now on
	}
	return nil
}

func member(role string, setsid bool) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-ignore-term", "-hold"}
	if role != "" {
		args = []string{"-ignore-term", "-role", role}
	}
	cmd := exec.Command(self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	return cmd, nil
}

// playRole plays the part of a member, and returns the status to end with.
func playRole(role string) int {
	var err error
	switch role {
	case "gone":
		err = startMember("", true, false)
	case "parent":
		if err = startMember("", true, false); err == nil {
			forever()
		}
	case "breeder":
		for range 3 {
			if err = startMember("brief", false, false); err != nil {
				break
			}
		}
		forever()
	case "brief":
		err = startMember("nothing", true, false)
	case "hopper":
		err = startMember("hopper", true, false)
	case "nothing":
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		return 2
	}
	return 0
}
