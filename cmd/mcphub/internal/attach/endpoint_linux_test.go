package attach

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOneAdapterStartsTheHub: of adapters that find no hub one at a time has the turn. The others wait until it ends, or until a hub
// listens. If the one hangs, they wait for no longer than they want to.
func TestOneAdapterStartsTheHub(t *testing.T) {
	t.Parallel()
	e := endpoint(t, CommandLine{})
	e.Dirs = []string{t.TempDir()}
	if err := os.Chmod(e.Dirs[0], 0o700); err != nil {
		t.Fatal(err)
	}
	end, listens := e.AwaitStartLock(time.Minute)
	if listens {
		t.Error("a hub listens before there is one")
	}
	if other, listens := e.AwaitStartLock(0); listens {
		t.Error("a hub listens before there is one")
	} else {
		other()
	}
	waits := make(chan bool)
	next := func() {
		end, listens := e.AwaitStartLock(time.Minute)
		end()
		waits <- listens
	}
	go next()
	select {
	case <-waits:
		t.Error("two have the turn")
	case <-time.After(10 * startLockPause):
	}
	hub, err := net.Listen("unix", e.Socket(e.Dirs[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	if !<-waits {
		t.Error("the hub is not seen, while another has the turn")
	}
	end()
	go next()
	if !<-waits {
		t.Error("the hub is not seen")
	}
}

// Where the folder of sockets lies in a root, servers may put links and pipes instead of a hub's files. No other file is read
// or written for that, and no one waits.
func TestOtherThingsInPlaceOfFiles(t *testing.T) {
	t.Parallel()
	p, now := endpoint(t, CommandLine{}), time.Now()
	for name, put := range map[string]func(path, victim string) error{
		"link":   func(path, victim string) error { return os.Symlink(victim, path) },
		"pipe":   func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
		"folder": func(path, _ string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, other := t.TempDir(), t.TempDir()+"/victim"
			text := "1 " + strings.Repeat("x", endsSize+1)
			for _, err := range []error{os.WriteFile(other, []byte(text), 0o600), put(p.endsFile(dir), other), put(p.secretFile(dir), other)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			for hub := range endBounds[0].ends {
				p.noteEnd(dir, 1+hub, now)
			}
			if err := p.TooManyEnds(dir, now); err != nil {
				t.Error(err)
			}
			if secret, err := p.readSecret(dir); err == nil {
				t.Errorf("the secret is %q", secret)
			}
			if b, err := os.ReadFile(other); err != nil || string(b) != text {
				t.Errorf("another file is %.80q by now, %v", b, err)
			}
		})
	}
}
