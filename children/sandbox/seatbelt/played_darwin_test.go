package seatbelt_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"mcphub/children/sandbox/proof"
)

func TestMain(m *testing.M) {
	if proof.IsChild(os.Args[1:]) {
		os.Exit(proof.Child())
	}
	os.Exit(m.Run())
}

// TestCasesOnMac: Seatbelt says about each case what the model says. The control is a process without a profile.
func TestCasesOnMac(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	victim, release, err := proof.Wait(program)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for i := range cases(t, "", "") {
		made := map[bool][]string{}
		for _, held := range []bool{false, true} {
			dir := tree(t)
			c := cases(t, dir, strconv.Itoa(victim))[i]
			argv := proof.Command(program)
			if held {
				argv = append([]string{proof.SandboxExec, "-p", c.Profile}, argv...)
			}
			var calls []proof.Call
			for _, one := range c.Calls {
				calls = append(calls, one.Call)
			}
			came, err := proof.Make(argv, calls)
			if err != nil || len(came) != len(calls) {
				t.Fatalf("%s (held %t): %v", c.Name, held, err)
			}
			made[held] = came
		}
		for j, one := range cases(t, "", "")[i].Calls {
			if made[false][j] != "" {
				t.Errorf("control: %d: %q fails without a profile: %s", i, one.Call, made[false][j])
			}
			if got := made[true][j] == ""; got != one.Allowed {
				t.Errorf("%s: %q passes: %t, and the model says %t (%s)", cases(t, "", "")[i].Name, one.Call, got, one.Allowed, made[true][j])
			}
		}
	}
}

// tree makes the tree of a case in a folder with a short name: the name of a socket ends at 104 bytes.
func tree(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/private/tmp", "cases-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, file := range playedFiles {
		at := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in/link": "../out", "in/secret": "../out/secret"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", filepath.Join(dir, "out", "sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return dir
}
