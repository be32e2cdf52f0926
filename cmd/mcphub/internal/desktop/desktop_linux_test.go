package desktop

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"mcphub/e2e/needs"
)

// shown is one call of a desktop.
type shown struct {
	replaces    uint32
	title, text string
	actions     []string
	expires     int32
}

// desk is a desktop that numbers what it is shown.
type desk struct{ calls chan shown }

func (d desk) Notify(_ string, replaces uint32, _, title, text string, actions []string, _ map[string]dbus.Variant, expires int32) (uint32, *dbus.Error) {
	d.calls <- shown{replaces, title, text, actions, expires}
	return 7, nil
}

// bus starts a session bus with a desktop.
func bus(t *testing.T) (address string, d desk) {
	t.Helper()
	program := needs.Program(t, "dbus-daemon")
	dir, err := os.MkdirTemp("/tmp", "bus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address = "unix:path=" + filepath.Join(dir, "bus")
	cmd := exec.Command(program, "--session", "--nofork", "--nopidfile", "--print-address", "--address="+address)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it listens by then
		t.Fatal(line, err)
	}
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	d = desk{make(chan shown, 10)}
	if err := conn.Export(d, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("org.freedesktop.Notifications", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return address, d
}

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// A notice is shown without anything to press, and takes the place of the one before it.
func TestNoticesAreShown(t *testing.T) {
	t.Parallel()
	address, d := bus(t)
	n := New(environment(map[string]string{"DBUS_SESSION_BUS_ADDRESS": address}))
	failed := make(chan error, 10)
	over := make(chan struct{})
	go func() {
		defer close(over)
		n.Run(t.Context(), func(err error) { failed <- err })
	}()
	for i, text := range []string{"one", "two"} {
		n.Tell(Notice{Title: "title", Text: text, Until: time.Now().Add(time.Minute)})
		select {
		case s := <-d.calls:
			if s.title != "title" || s.text != text || len(s.actions) != 0 || s.expires < 1000 || s.expires > 60000 || s.replaces != uint32(7*i) {
				t.Errorf("shown %+v", s)
			}
		case err := <-failed:
			t.Fatal(err)
		}
	}
}

// If there is no bus on a socket of this machine, none is started and nothing is run.
func TestNoBusIsStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, env := range map[string]map[string]string{
		"none":      {},
		"no socket": {"XDG_RUNTIME_DIR": dir},
		"a program": {"DBUS_SESSION_BUS_ADDRESS": "unixexec:path=/bin/sh,argv1=-c,argv2=touch " + filepath.Join(dir, "ran")},
		"several":   {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere;autolaunch:"},
		"network":   {"DBUS_SESSION_BUS_ADDRESS": "tcp:host=127.0.0.1,port=1"},
	} {
		if err := New(environment(env)).showNotice(t.Context(), Notice{}); !errors.Is(err, errNoDesktop) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := New(environment(map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=" + dir})).busAddress(); !strings.HasPrefix(got, "unix:") { // the control
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a program was run")
	}
}

// Who tells never waits, also if no one shows anything.
func TestTellingNeverWaits(t *testing.T) {
	t.Parallel()
	n := New(environment(nil))
	for range 10 * maxWaiting {
		n.Tell(Notice{})
	}
	if len(n.notices) != maxWaiting {
		t.Errorf("%d notices wait", len(n.notices))
	}
}
