package proctree

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

const envRole = "PROCTREE_TEST_ROLE"

// TestMain also is the processes of a test. "asks" says whether it is a server when it is told to; "leaves" starts that, and ends before
// it is told.
func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "":
		os.Exit(m.Run())
	case "leaves":
		_, _ = io.ReadFull(os.Stdin, make([]byte, 1))
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stdin, cmd.Stdout = append(os.Environ(), envRole+"=asks"), os.Stdin, os.Stdout
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
		}
	case "asks":
		_, _ = io.ReadFull(os.Stdin, make([]byte, 1))
		fmt.Println(IsServer(windows.CurrentProcess()))
	}
}

// TestServersAreKnown: a process that is made a server is known as one to itself, and so is a process that it starts and leaves behind. Others are
// none.
func TestServersAreKnown(t *testing.T) {
	for _, role := range []string{"asks", "leaves"} {
		for _, joins := range []bool{false, true} {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), envRole+"="+role)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE|windows.PROCESS_QUERY_INFORMATION, false, uint32(cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			if joins {
				if err := JoinServers(h); err != nil {
					t.Fatal(err)
				}
			}
			if is, err := IsServer(h); is != joins || err != nil {
				t.Errorf("%s: %t %v, want %t", role, is, err, joins)
			}
			_ = windows.CloseHandle(h)
			_, _ = in.Write([]byte("x"))
			if role == "leaves" {
				if _, err := cmd.Process.Wait(); err != nil {
					t.Fatal(err)
				}
				_, _ = in.Write([]byte("x"))
			}
			_ = in.Close()
			said, _ := io.ReadAll(out)
			if want := fmt.Sprint(joins, " <nil>"); strings.TrimSpace(string(said)) != want {
				t.Errorf("%s says %q, want %q", role, said, want)
			}
			if role == "asks" {
				_ = cmd.Wait()
			}
		}
	}
	if is, err := IsServer(windows.CurrentProcess()); is || err != nil {
		t.Errorf("the hub itself: %t %v", is, err)
	}
}
