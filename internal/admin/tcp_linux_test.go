package admin

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// callerVariable makes the test binary connect to an address, and keep the connection.
const callerVariable = "ADMIN_TEST_CALLS"

// markVariable is what bears the mark of a server here.
const markVariable = "ADMIN_TEST_MARK"

func init() {
	if address := os.Getenv(callerVariable); address != "" {
		c, err := net.Dial("tcp", address)
		if err != nil {
			os.Exit(1)
		}
		_, _ = c.Read(make([]byte, 1)) // until the test closes it
		os.Exit(0)
	}
}

// TestKin: of whoever connects, what a hub started is told from others.
func TestKin(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Log(err) // no IPv6
			continue
		}
		defer func() { _ = ln.Close() }()
		to := ln.Addr().String()
		if address == "[::]:0" {
			_, port, _ := net.SplitHostPort(to)
			to = net.JoinHostPort("127.0.0.1", port) // both families meet
		}
		ends := func(c net.Conn) (remote, local netip.AddrPort) {
			return c.RemoteAddr().(*net.TCPAddr).AddrPort(), c.LocalAddr().(*net.TCPAddr).AddrPort()
		}
		accept := func() net.Conn {
			t.Helper()
			_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
			c, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		k := NewKin([]string{t.TempDir()}, markVariable)

		own, err := net.Dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		c := accept()
		if err := k.Check(ends(c)); err != nil {
			t.Errorf("%s: the process itself: %v", address, err)
		}
		remote, local := ends(c)
		_ = own.Close()
		_, _ = c.Read(make([]byte, 1)) // until it is closed
		if err := k.Check(remote, local); !errors.Is(err, errUnknown) {
			t.Errorf("%s: nobody holds it, and it is not refused: %v", address, err)
		}
		_ = c.Close()

		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), callerVariable+"="+to)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c = accept()
		if err := k.Check(ends(c)); !errors.Is(err, errKin) {
			t.Errorf("%s: what this process started is not refused: %v", address, err)
		}
		_ = c.Close()
		_ = cmd.Wait()

		// Without a parent it is a stranger, unless it bears the mark of a server.
		for mark, want := range map[string]error{"": nil, "some": errKin} {
			cmd = exec.CommandContext(t.Context(), "/bin/sh", "-c", `"$0" &`, os.Args[0])
			cmd.Env = append(os.Environ(), callerVariable+"="+to, markVariable+"="+mark)
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			c = accept()
			if err := k.Check(ends(c)); !errors.Is(err, want) {
				t.Errorf("%s: an orphan with the mark %q: %v, want %v", address, mark, err, want)
			}
			_ = c.Close()
		}
	}
}

// TestKinListens: a hub is known by who listens at its socket, whatever the socket is
// called; one that a killed hub left behind is nobody's.
func TestKinListens(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "mh")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	listen := func(name string) *net.UnixListener {
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	gone := listen("1234567-x.sock")
	gone.SetUnlinkOnClose(false)
	_ = gone.Close()
	ln := listen("7654321-y.sock")
	defer func() { _ = ln.Close() }()
	if all := NewKin([]string{dir, filepath.Join(dir, "missing")}, markVariable).hubs(); len(all) != 1 || !all[os.Getpid()] {
		t.Errorf("hubs: %v", all)
	}
}
