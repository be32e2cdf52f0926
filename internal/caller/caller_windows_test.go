package caller

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"mcphub/internal/pipe"
	"mcphub/internal/proctree"
)

// TestMain also is the processes of TestCallers. Each waits for a line on its standard input, then opens the pipe that its role names and
// says whether it is refused by itself. One that leaves has another process do that, and ends at once.
func TestMain(m *testing.M) {
	role, name, _ := strings.Cut(os.Getenv("CALLER_ROLE"), " ")
	if role == "" {
		os.Exit(m.Run())
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	if role == "leaves" {
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stdin, cmd.Stdout = append(os.Environ(), "CALLER_ROLE=dials "+name), os.Stdin, os.Stdout
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
		}
		return
	}
	fmt.Println(Self(Want{}))
	if _, err := pipe.Dial(context.Background(), name); err != nil {
		fmt.Println(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestCallers: a server of a hub, and what a server starts and leaves behind, is refused at the pipe and by itself. A process that a hub has not started is not.
func TestCallers(t *testing.T) {
	name := fmt.Sprintf(`\\.\pipe\mcphub-caller-%d`, os.Getpid())
	l, err := pipe.Listen(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	hub := Process{PID: os.Getpid(), Start: Started(os.Getpid())}
	if hub.Start == 0 {
		t.Fatal("when this process has started is not known")
	}
	for _, c := range []struct {
		role   string
		server bool
		err    error
	}{{"dials", false, nil}, {"dials", true, errServer}, {"leaves", false, nil}, {"leaves", true, errServer}} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "CALLER_ROLE="+c.role+" "+name)
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
		if c.server {
			h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
			if err == nil {
				err = proctree.JoinServers(h)
				_ = windows.CloseHandle(h)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, _ = in.Write([]byte("x"))
		if c.role == "leaves" {
			_, _ = cmd.Process.Wait()
			_, _ = in.Write([]byte("x"))
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := Peer(conn.(Conn), Want{}); !errors.Is(err, c.err) {
			t.Errorf("%+v: %v", c, err)
		}
		if err := Peer(conn.(Conn), Want{Person: true}); !errors.Is(err, errNoTerminal) {
			t.Errorf("%+v, as a person: %v", c, err)
		}
		if !c.server && c.role == "dials" { // this process has started it
			for want, err := range map[Process]error{hub: errOfClient, {PID: hub.PID}: errOfClient, {PID: hub.PID, Start: 7}: nil, {PID: 1 << 30}: nil} {
				if got := Peer(conn.(Conn), Want{Clients: []Process{want}}); !errors.Is(got, err) {
					t.Errorf("the client is %+v: %v", want, got)
				}
			}
		}
		said, _ := bufio.NewReader(out).ReadString('\n')
		if want := fmt.Sprintln(c.err); said != want {
			t.Errorf("%+v says %q, want %q", c, said, want)
		}
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if c.role == "dials" {
			_ = cmd.Wait()
			if err := Peer(conn.(Conn), Want{}); !errors.Is(err, errGone) {
				t.Errorf("%+v, when it has ended: %v", c, err)
			}
		}
		_ = conn.Close()
	}
}
