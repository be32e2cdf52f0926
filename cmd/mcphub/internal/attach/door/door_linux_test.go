package door

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"mcphub/cmd/mcphub/internal/attach"
	"mcphub/e2e/bounds"
	"mcphub/internal/caller"
)

// TestMain plays the process that was passed a connection, or runs the tests.
func TestMain(m *testing.M) {
	if os.Getenv("DOOR_TEST_SAYS") != "" {
		_, err := os.NewFile(3, "connection").WriteString(os.Getenv("DOOR_TEST_SAYS"))
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// An endpoint of its own, and a Door there that lets the test's own process in.
type opened struct {
	*testing.T
	path   string
	secret string
	served chan *Guest
	ended  chan struct{} // closed: Serve returns
	done   chan struct{} // Run has returned
	stop   func()        // has it return
}

func open(t *testing.T, idle time.Duration, change func(*Door)) *opened {
	t.Helper()
	dir, err := os.MkdirTemp("", "door")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	endpoint, err := attach.EndpointOf(attach.CommandLine{}, []string{"XDG_RUNTIME_DIR=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := endpoint.Folder()
	if err != nil {
		t.Fatal(err)
	}
	o := &opened{T: t, path: endpoint.Socket(folder), served: make(chan *Guest, 1), ended: make(chan struct{}), done: make(chan struct{})}
	d, err := New(Config{Endpoint: endpoint, Dir: folder, Idle: idle, Log: zerolog.Nop(), Open: func() bool { return true }, Prepare: func(_ context.Context, g *Guest) (ServeFunc, error) {
		if g.Dir == "/refused" {
			return nil, errors.New("not here\nand not there")
		}
		return func(ctx context.Context) int {
			o.served <- g
			select {
			case <-o.ended:
			case <-ctx.Done():
			}
			for _, fd := range []int{g.In, g.Out, g.Err} {
				_ = unix.Close(fd)
			}
			return 7
		}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	d.who = func(*net.UnixConn, caller.Want) error { return nil }
	if change != nil {
		change(d)
	}
	o.secret = d.secret
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(o.done)
		d.Run(ctx)
	}()
	o.stop = func() { cancel(); <-o.done }
	t.Cleanup(o.stop)
	return o
}

func (o *opened) dial() *net.UnixConn {
	o.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: o.path, Net: "unix"})
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(bounds.Patience))
	return c
}

// ask sends what an adapter would, with descriptors, and returns the answer.
func (o *opened) ask(c *net.UnixConn, b []byte, fds ...int) string {
	o.Helper()
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	if _, _, err := c.WriteMsgUnix(b, oob, nil); err != nil {
		o.Fatal(err)
	}
	return o.hear(c)
}

func (o *opened) hear(c *net.UnixConn) string {
	o.Helper()
	var line []byte
	var b [1]byte
	for {
		if _, err := c.Read(b[:]); err != nil {
			return string(line) + "<" + err.Error() + ">"
		}
		if b[0] == '\n' {
			return string(line)
		}
		line = append(line, b[0])
	}
}

func encoded(t *testing.T, s attach.Surroundings) []byte {
	t.Helper()
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pipes are three descriptors to hand over.
func pipes(t *testing.T) []int {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return []int{int(r.Fd()), int(w.Fd()), int(w.Fd())}
}

func (o *opened) hello() []byte { return []byte(attach.Hello + o.secret + "\n") }

func TestASessionAttaches(t *testing.T) {
	t.Parallel()
	o := open(t, time.Hour, nil)
	c := o.dial()
	session := attach.Surroundings{Roots: "/a", RootsGiven: true, LogLevel: "debug", Dir: "/work", Environ: []string{"A=1", "B=\n"}}
	if got := o.ask(c, o.hello()); got != attach.Ready {
		t.Fatal(got)
	}
	if got := o.ask(c, encoded(t, session), pipes(t)...); got != attach.OK {
		t.Fatal(got)
	}
	select {
	case <-o.served:
		t.Fatal("it is served before the last word")
	default:
	}
	if _, err := c.Write([]byte(attach.Go + "\n")); err != nil {
		t.Fatal(err)
	}
	g := <-o.served
	if fmt.Sprint(g.Surroundings) != fmt.Sprint(session) || g.Adapter.PID != os.Getpid() || g.Client.PID != os.Getppid() || g.Adapter.Start == 0 {
		t.Errorf("%+v", g)
	}
	close(o.ended)
	if got := o.hear(c); got != attach.End+"7" {
		t.Error(got)
	}
}

// An adapter that is killed ends its session, one that goes does.
func TestAnAdapterThatEnds(t *testing.T) {
	t.Parallel()
	o := open(t, time.Hour, nil)
	c := o.dial()
	o.ask(c, o.hello())
	o.ask(c, encoded(t, attach.Surroundings{Dir: "/work"}), pipes(t)...)
	if _, err := c.Write([]byte(attach.Go + "\n")); err != nil {
		t.Fatal(err)
	}
	<-o.served
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := o.hear(c); got != attach.End+"7" {
		t.Error(got)
	}
}

func TestWhoIsRefused(t *testing.T) {
	t.Parallel()
	good := encoded(t, attach.Surroundings{Dir: "/work"})
	for name, c := range map[string]struct {
		change func(*Door)
		hello  string
		body   []byte
		fds    int
		word   string
		want   string
	}{
		"control":                {body: good, fds: 3, want: attach.OK},
		"a server":               {change: func(d *Door) { d.who = func(*net.UnixConn, caller.Want) error { return errors.New("a server") } }, want: "no a server"},
		"off by now":             {change: func(d *Door) { d.cfg.Open = func() bool { return false } }, want: "no "},
		"another secret":         {hello: attach.Hello + "0\n", want: "no it does not know the secret"},
		"an older protocol":      {hello: "mcphub attach 0 \n", want: "no it does not know the secret"},
		"no descriptor":          {body: good, want: "no 0 descriptors"},
		"two":                    {body: good, fds: 2, want: "no 2 descriptors"},
		"four":                   {body: good, fds: 4, want: "no 4 descriptors"},
		"a length beyond bounds": {body: []byte{255, 0, 0, 0}, fds: 3, want: "no what the adapter has sent"},
		"no texts":               {body: []byte{0, 0, 0, 1, 'x'}, fds: 3, want: "no what the adapter has sent"},
		"one too many":           {change: func(d *Door) { d.attached = maxAttached }, body: good, fds: 3, want: "no 256 clients are attached"},
		"the last that it takes": {change: func(d *Door) { d.attached = maxAttached - 1 }, body: good, fds: 3, want: attach.OK},
		"what the hub refuses":   {body: encoded(t, attach.Surroundings{Dir: "/refused"}), fds: 3, want: "no not here; and not there"},
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t, time.Hour, c.change)
			conn := o.dial()
			hello := c.hello
			if hello == "" {
				hello = string(o.hello())
			}
			var got string
			if name == "a server" { // it is told without being asked, and may find the connection closed when it asks
				got = o.hear(conn)
			} else {
				got = o.ask(conn, []byte(hello))
			}
			if got == attach.Ready {
				var fds []int
				for i := range c.fds {
					fds = append(fds, pipes(t)[i%3])
				}
				got = o.ask(conn, c.body, fds...)
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A process that was passed the connection of another is refused.
func TestAConnectionThatIsPassedOn(t *testing.T) {
	t.Parallel()
	for name, alien := range map[string]bool{"control": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			o := open(t, time.Hour, nil)
			c := o.dial()
			if !alien {
				if got := o.ask(c, o.hello()); got != attach.Ready {
					t.Error(got)
				}
				return
			}
			f, err := c.File()
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd := exec.Command(os.Args[0])
			cmd.Env, cmd.ExtraFiles = append(os.Environ(), "DOOR_TEST_SAYS="+string(o.hello())), []*os.File{f}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			if got := o.hear(c); !strings.HasPrefix(got, "no process ") {
				t.Error(got)
			}
		})
	}
}

// An adapter that says nothing is let go of within two seconds, and its descriptors with it: the other end of its
// stream sees the end.
func TestAnAdapterThatHangs(t *testing.T) {
	t.Parallel()
	o := open(t, time.Hour, nil)
	c := o.dial()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o.ask(c, o.hello())
	if got := o.ask(c, encoded(t, attach.Surroundings{Dir: "/work"}), int(w.Fd()), int(w.Fd()), int(w.Fd())); got != attach.OK {
		t.Fatal(got)
	}
	_ = w.Close()
	began := time.Now()
	if _, err := io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited > bounds.Of(answerTime+time.Second) {
		t.Errorf("after %s", waited)
	}
	if got := o.hear(c); !strings.HasPrefix(got, "no ") {
		t.Error(got)
	}
}

func TestRunEndsWhenNobodyIsAttached(t *testing.T) {
	t.Parallel()
	o := open(t, 50*time.Millisecond, nil)
	<-o.done
	if _, err := os.Lstat(o.path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket is left", err)
	}
}

// A session that is attached keeps the Door open; its end begins the wait again.
func TestRunGoesOnWhileSomebodyIsAttached(t *testing.T) {
	t.Parallel()
	var d *Door
	o := open(t, time.Hour, func(door *Door) { d = door })
	c := o.dial()
	o.ask(c, o.hello())
	o.ask(c, encoded(t, attach.Surroundings{Dir: "/work"}), pipes(t)...)
	if _, err := c.Write([]byte(attach.Go + "\n")); err != nil {
		t.Fatal(err)
	}
	<-o.served
	if d.enterGuest(nil) == nil { // the timer is stopped: only the last who leaves starts it
		d.leaveGuest()
	}
	d.mu.Lock()
	running := d.since.Stop()
	d.cfg.Idle = 100 * time.Millisecond // of the wait that begins when the session ends
	d.mu.Unlock()
	if running {
		t.Error("the time runs although somebody is attached")
	}
	close(o.ended)
	<-o.done
}

// A hub that ends while someone still connects to it leaves the place, and the secret, to the next one.
func TestTheNextHubKeepsItsSecret(t *testing.T) {
	t.Parallel()
	var d *Door
	o := open(t, time.Hour, func(door *Door) { d = door })
	c, other := o.dial(), o.dial()
	if _, err := c.Write([]byte("half a line")); err != nil {
		t.Fatal(err)
	}
	o.ask(other, o.hello()) // which came later: so the first is let in
	d.mu.Lock()
	d.since.Reset(0)
	d.mu.Unlock()
	if !bounds.Within(bounds.Patience, func() bool { _, err := os.Lstat(o.path); return errors.Is(err, os.ErrNotExist) }) {
		t.Fatal("it does not end")
	}
	next, err := New(d.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer next.closeDoor()
	_, _ = c.Close(), other.Close()
	<-o.done
	secret, err := os.ReadFile(strings.TrimSuffix(o.path, ".attach") + ".secret")
	if err != nil || string(secret) != next.secret {
		t.Errorf("%q %v, want %q", secret, err, next.secret)
	}
}

// An adapter that comes when the hub is about to end is told nothing: it starts the next one.
func TestAnAdapterThatComesTooLate(t *testing.T) {
	t.Parallel()
	var d *Door
	o := open(t, time.Hour, func(door *Door) { d = door })
	c := o.dial()
	o.ask(c, o.hello())
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	if got := o.ask(c, encoded(t, attach.Surroundings{Dir: "/work"}), pipes(t)...); got != "<EOF>" {
		t.Error(got)
	}
}

// An adapter that has said a part of its words when the hub ends is told nothing at once, and waits for no time limit.
func TestAnAdapterThatSpeaksWhileTheHubEnds(t *testing.T) {
	t.Parallel()
	o := open(t, time.Hour, nil)
	c := o.dial()
	if got := o.ask(c, o.hello()); got != attach.Ready {
		t.Fatal(got)
	}
	o.stop()
	if got := o.hear(c); got != "<EOF>" {
		t.Error(got)
	}
}

// An adapter that connects as soon as the socket is there is known by its process, as one that comes later is.
func TestAnAdapterThatConnectsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 200 {
		path := filepath.Join(dir, strconv.Itoa(i))
		connected := make(chan error, 1)
		go func() {
			c, err := net.Dial("unix", path)
			for errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) {
				c, err = net.Dial("unix", path)
			}
			if err == nil {
				_, err = c.Write([]byte("a\n"))
				err = errors.Join(err, c.Close())
			}
			connected <- err
		}()
		l, err := listen(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-connected; err != nil {
			t.Fatal(err)
		}
		c, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		if line, err := (&input{c: c, from: int32(os.Getpid())}).readLine(); line != "a" || err != nil {
			t.Errorf("connection %d: %q %v", i, line, err)
		}
		_, _ = c.Close(), l.Close()
	}
}

// What listens cannot hide by a refusal why an adapter does not trust it.
func TestAHubThatIsNotTrustedIsNamed(t *testing.T) {
	t.Parallel()
	var d *Door
	open(t, time.Hour, func(door *Door) {
		d, door.who = door, func(c *net.UnixConn, _ caller.Want) error { _ = c.Close(); return errors.New("not you") }
	})
	_, err := attach.Attach(d.cfg.Endpoint, attach.Surroundings{Dir: "/work"}, nil, func(int) error { return errors.New("it is traced") })
	if err == nil || !strings.Contains(err.Error(), "it is traced") {
		t.Error(err)
	}
}

// What an attached adapter hands over later is closed.
func TestDescriptorsThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	o := open(t, time.Hour, nil)
	c := o.dial()
	o.ask(c, o.hello())
	o.ask(c, encoded(t, attach.Surroundings{Dir: "/work"}), pipes(t)...)
	if _, err := c.Write([]byte(attach.Go + "\n")); err != nil {
		t.Fatal(err)
	}
	<-o.served
	for _, n := range []int{1, 6, 200} { // more than six end the session
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.WriteMsgUnix([]byte(attach.HangUp+"\n"), unix.UnixRights(slices.Repeat([]int{int(w.Fd())}, n)...), nil); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		_ = r.SetReadDeadline(time.Now().Add(bounds.Patience))
		if _, err := io.ReadAll(r); err != nil {
			t.Errorf("%d descriptors: %v", n, err)
		}
		_ = r.Close()
	}
}

// Servers that connect and say nothing keep no one from attaching for long, and the log is not theirs to fill.
func TestServersThatSayNothing(t *testing.T) {
	t.Parallel()
	adapter := fmt.Sprintf("@door-test-adapter-%d", os.Getpid())
	var log bytes.Buffer
	o := open(t, time.Hour, func(d *Door) {
		d.who = func(c *net.UnixConn, _ caller.Want) error {
			if c.RemoteAddr().String() != adapter {
				return errors.New("a server")
			}
			return nil
		}
		d.refused = d.refused.Output(zerolog.SyncWriter(&log)).Level(zerolog.WarnLevel)
	})
	o.hear(o.dial()) // the first refusal begins the time in which so many are logged
	for range 4 * maxWaiting {
		o.dial()
	}
	began := time.Now()
	c, err := net.DialUnix("unix", &net.UnixAddr{Name: adapter, Net: "unix"}, &net.UnixAddr{Name: o.path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := o.ask(c, o.hello()); got != attach.Ready {
		t.Error(got)
	}
	if waited := time.Since(began); waited > bounds.Of(answerTime+time.Second) {
		t.Errorf("after %s", waited)
	}
	_ = c.Close()
	o.stop()
	if n := strings.Count(log.String(), "may not attach"); n != maxRefused {
		t.Errorf("%d lines are in the log", n)
	}
}
