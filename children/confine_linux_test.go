package children_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/e2e/needs"
	"mcphub/rootsmgr/guard"
)

// landlocked skips if the kernel holds nothing. In CI it must.
func landlocked(t *testing.T) {
	t.Helper()
	if k := sandbox.CurrentKernel(); k.ABI < 6 {
		needs.Missing(t, "Landlock has ABI ", k.ABI, " here, and 6 is needed: ", k.Why)
	}
}

const canary = "the-canary-that-nobody-may-read"

// grounds are two roots and a place outside of them, and a child with a shell.
type grounds struct {
	*testing.T
	a, b, out string
	s         *children.Supervisor
	w         *watcher
	spec      spec.Spec
}

func newGrounds(t *testing.T, settings sandbox.Settings) *grounds {
	t.Helper()
	landlocked(t)
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &grounds{T: t, a: filepath.Join(top, "a"), b: filepath.Join(top, "b"), out: filepath.Join(top, "out")}
	for _, dir := range []string{g.a, g.b, g.out} {
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "file"), []byte(canary), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	g.spec = childtest.Spec("kid", childtest.Script{AskRoots: true})
	g.spec.Sandbox = settings
	t.Setenv("XDG_CACHE_HOME", filepath.Join(top, "cache"))
	g.w = newWatcher()
	g.s = start(t, g.w, children.SupervisorOptions{Specs: []spec.Spec{g.spec}})
	return g
}

// boundary returns one of these directories, to read and write.
func boundary(dirs ...string) (b sandbox.Boundary) {
	for _, dir := range dirs {
		b.Areas = append(b.Areas, sandbox.Rule{Path: dir, Access: sandbox.Read | sandbox.Write | sandbox.Execute})
	}
	return b
}

func rootsAt(dirs ...string) (roots []guard.Root) {
	for _, dir := range dirs {
		roots = append(roots, root(dir, ""))
	}
	return roots
}

// shell runs a command in the child.
func (g *grounds) shell(command string) string {
	g.Helper()
	l := acquire(g.T, g.s, one)
	defer l.Release()
	args, _ := json.Marshal(map[string]string{"Name": command})
	return text(g.T, call(g.T, l, "shell", string(args)))
}

func (g *grounds) reads(dir string) bool {
	g.Helper()
	return strings.Contains(g.shell("cat "+dir+"/file"), canary)
}

func required() sandbox.Settings {
	return sandbox.Settings{Mode: sandbox.Required, Network: sandbox.Network{On: true}}
}

// TestConfinedShell: a shell opens its roots and folders of its own, and nothing else.
// The control is the same one without a sandbox.
func TestConfinedShell(t *testing.T) {
	free := newGrounds(t, sandbox.Settings{})
	free.s.Ensure(one, rootsAt(free.a))
	if !free.reads(free.out) {
		t.Error("without a sandbox it does not read outside: this shows nothing")
	}
	g := newGrounds(t, required())
	g.s.WithBoundary(boundary(g.a)).EnsureInstance(one, rootsAt(g.a))
	if !g.reads(g.a) {
		t.Error("it cannot read its root")
	}
	if g.reads(g.out) {
		t.Error("it reads outside")
	}
	if got := g.shell("echo x > " + g.out + "/new"); !strings.Contains(got, "denied") {
		t.Error("it writes outside: ", got)
	}
	t.Run("in a session of its own", func(t *testing.T) {
		line := "setsid sh -c '(sleep 0.1; cat " + g.out + "/file > " + g.a + "/copy) & wait'; cat " + g.a + "/copy"
		needs.Line(t, line)
		if got := g.shell(line); strings.Contains(got, canary) {
			t.Error("it reads outside")
		}
	})
	for _, command := range []string{
		`echo x > "$TMPDIR/x" && cat "$TMPDIR/x" && test ${#TMPDIR} -lt 64`, `echo x > "$XDG_CACHE_HOME/x"`, "echo x > " + g.a + "/new && mkdir " + g.a + "/d && mv " + g.a + "/new " + g.a + "/d/",
		"git --version", "head -c 8 /dev/urandom | wc -c", "sleep 9 & kill $!",
	} {
		if got := g.shell(command); !strings.HasSuffix(got, "<nil>") {
			t.Errorf("%s: %s", command, got)
		}
	}
	st := statusOf(t, g.s, "kid")
	if st.Sandbox.State != sandbox.Held || len(st.Sandbox.Lacks) > 0 {
		t.Errorf("the status says %q", st.Sandbox.Lacks)
	}
	// The private folder goes with the run, whatever was done to keep it.
	if got := g.shell(`mkdir -p "$TMPDIR/a/b" && chmod 0 "$TMPDIR/a" && chmod 500 "$TMPDIR"`); !strings.HasSuffix(got, "<nil>") {
		t.Error(got)
	}
	temp := strings.TrimSuffix(g.shell("echo -n $TMPDIR"), "<nil>")
	if _, err := os.Stat(temp); err != nil {
		t.Error(err)
	}
	g.s.DropInstances("s")
	g.w.until(t, "it has ended", func() bool {
		states := g.w.states[one.String()]
		return states[len(states)-1] == children.Stopped
	})
	if _, err := os.Stat(temp); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its temporary folder is left: %v", err)
	}
}

// TestSocketsAreNamed: with sockets on the status names who can be reached by them.
func TestSocketsAreNamed(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // the names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "agent")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, "agent"))
	for _, on := range []bool{true, false} {
		settings := required()
		if on {
			settings.Sockets = sandbox.Yes
		}
		g := newGrounds(t, settings)
		g.s.WithBoundary(boundary(g.a)).EnsureInstance(one, rootsAt(g.a))
		g.reads(g.a)
		if got := strings.Join(statusOf(t, g.s, "kid").Sandbox.Lacks, "; "); strings.Contains(got, "ssh-agent") != on || strings.Contains(got, "through them everything") != on {
			t.Errorf("with sockets on %t: %s", on, got)
		}
	}
}

// TestConfinedRootsChange: what is new can be opened and what is gone cannot, although
// rules of a running process only become fewer.
func TestConfinedRootsChange(t *testing.T) {
	g := newGrounds(t, required())
	g.s.WithBoundary(boundary(g.a)).EnsureInstance(one, rootsAt(g.a))
	check := func(when string, a, b bool) {
		t.Helper()
		if g.reads(g.a) != a || g.reads(g.b) != b {
			t.Errorf("%s: it reads a %t, b %t", when, g.reads(g.a), g.reads(g.b))
		}
	}
	check("at first", true, false)
	pid := statusOf(t, g.s, "kid").PID
	g.s.WithBoundary(boundary(g.a)).SetRoots(one, rootsAt(g.a))
	check("nothing changed", true, false)
	if now := statusOf(t, g.s, "kid").PID; now != pid {
		t.Error("it was started anew for nothing")
	}
	g.s.WithBoundary(boundary(g.a, g.b)).SetRoots(one, rootsAt(g.a, g.b))
	check("wider", true, true)
	g.s.WithBoundary(boundary(g.b)).SetRoots(one, rootsAt(g.b))
	check("narrower", false, true)
	g.s.WithBoundary(sandbox.Boundary{}).SetRoots(one, nil)
	check("none", false, false)
	// A grant of a file changes nothing but the rules.
	with := sandbox.Boundary{Areas: []sandbox.Rule{{Path: filepath.Join(g.out, "file"), Access: sandbox.Read}}}
	g.s.WithBoundary(with).SetRoots(one, nil)
	if !g.reads(g.out) || !strings.Contains(g.shell("echo x > "+g.out+"/file"), "denied") {
		t.Error("a file to read can be read, and not be written")
	}
}

// TestConfinedPlacesChange: the kernel's rules are on what was there when the child
// started. The next call finds what is there now, and none of what was moved away.
func TestConfinedPlacesChange(t *testing.T) {
	file := func(g *grounds) string { return filepath.Join(g.out, "file") }
	write := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	for name, tc := range map[string]struct {
		boundary func(g *grounds) sandbox.Boundary
		change   func(g *grounds) error
		open     func(g *grounds) string // is read after the change; "": nothing is
		closed   func(g *grounds) string // is not
		stays    bool                    // the process goes on
	}{
		"nothing": {
			boundary: func(g *grounds) sandbox.Boundary { return boundary(g.a) },
			change:   func(*grounds) error { return nil },
			open:     func(g *grounds) string { return g.a + "/file" },
			closed:   file, stays: true,
		},
		"another directory": {
			boundary: func(g *grounds) sandbox.Boundary { return boundary(g.a) },
			change:   func(g *grounds) error { return errors.Join(os.Rename(g.a, g.a+"-moved"), os.Rename(g.b, g.a)) },
			open:     func(g *grounds) string { return g.a + "/file" },
			closed:   func(g *grounds) string { return g.a + "-moved/file" },
		},
		"the directory is gone": {
			boundary: func(g *grounds) sandbox.Boundary { return boundary(g.a, g.b) },
			change:   func(g *grounds) error { return os.Rename(g.a, g.a+"-moved") },
			open:     func(g *grounds) string { return g.b + "/file" },
			closed:   func(g *grounds) string { return g.a + "-moved/file" },
		},
		"a link": {
			boundary: func(g *grounds) sandbox.Boundary { return boundary(g.a, g.b) },
			change:   func(g *grounds) error { return errors.Join(os.Rename(g.a, g.a+"-moved"), os.Symlink(g.out, g.a)) },
			open:     func(g *grounds) string { return g.b + "/file" },
			closed:   func(g *grounds) string { return g.a + "/file" },
		},
		"a file, as editors replace it": {
			boundary: func(g *grounds) sandbox.Boundary { return boundary(g.a, file(g)) },
			change: func(g *grounds) error {
				return errors.Join(write(g.out+"/new", canary), os.Rename(g.out+"/new", file(g)))
			},
			open: file,
		},
		"a file that is made": {
			boundary: func(g *grounds) sandbox.Boundary { return boundary(g.a, g.out+"/later") },
			change:   func(g *grounds) error { return write(g.out+"/later", canary) },
			open:     func(g *grounds) string { return g.out + "/later" },
			closed:   file,
		},
		"a directory of a root": {
			boundary: func(g *grounds) sandbox.Boundary { return boundary(g.a, g.a+"/inner") },
			change: func(g *grounds) error {
				return errors.Join(os.Mkdir(g.a+"/inner", 0o700), write(g.a+"/inner/file", canary))
			},
			open:   func(g *grounds) string { return g.a + "/inner/file" },
			closed: file, stays: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrounds(t, required())
			g.s.WithBoundary(tc.boundary(g)).EnsureInstance(one, rootsAt(g.b))
			pid := strings.TrimSpace(g.shell("echo $PPID"))
			if tc.open != nil && !tc.stays { // the control
				l := acquire(t, g.s, one)
				defer l.Release()
				if l.HasReplacedPaths() {
					t.Error("it counts as moved before the change")
				}
				defer func() {
					if !l.HasReplacedPaths() {
						t.Error("the change does not show in the lease that was there before")
					}
				}()
				if err := tc.change(g); err != nil {
					t.Fatal(err)
				}
				l.Release()
			} else if err := tc.change(g); err != nil {
				t.Fatal(err)
			}
			read := func(at func(g *grounds) string) bool { return strings.Contains(g.shell("cat "+at(g)), canary) }
			if tc.open != nil && !read(tc.open) {
				t.Errorf("it cannot read %s", tc.open(g))
			}
			if tc.closed != nil && read(tc.closed) {
				t.Errorf("it reads %s", tc.closed(g))
			}
			if now := strings.TrimSpace(g.shell("echo $PPID")); (now == pid) != tc.stays {
				t.Errorf("it was %s and is %s", pid, now)
			}
		})
	}
}

// TestConfinedCallsEndFirst: a call under way goes on to its end before the child is
// started again, and what follows waits for that.
func TestConfinedCallsEndFirst(t *testing.T) {
	for name, change := range map[string]func(g *grounds) error{
		"wider": func(g *grounds) error {
			g.s.WithBoundary(boundary(g.a, g.b)).SetRoots(one, rootsAt(g.a, g.b))
			return nil
		},
		"another directory": func(g *grounds) error { return errors.Join(os.Rename(g.a, g.out+"/a"), os.Rename(g.b, g.a)) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrounds(t, required())
			g.s.WithBoundary(boundary(g.a)).EnsureInstance(one, rootsAt(g.a))
			l := acquire(t, g.s, one)
			if err := change(g); err != nil {
				t.Fatal(err)
			}
			next := make(chan bool, 1)
			go func() { next <- g.reads(g.a) }()
			if got, err := callErr(t.Context(), l, "shell", `{"Name":"echo done"}`); err != nil || !strings.Contains(got, "done") {
				t.Errorf("the call under way was lost: %s, %v", got, err)
			}
			select {
			case <-next:
				t.Error("the call after the change did not wait for the one before")
			default:
			}
			l.Release()
			if !<-next {
				t.Error("the call after the change cannot read the root")
			}
		})
	}
}

// TestConfinedWidenRefused: a server that keeps a state is not ended for more, but for
// less it is.
func TestConfinedWidenRefused(t *testing.T) {
	settings := required()
	settings.KeepRunning = sandbox.Yes
	g := newGrounds(t, settings)
	g.s.WithBoundary(boundary(g.a)).EnsureInstance(one, rootsAt(g.a))
	pid := strings.TrimSpace(g.shell("echo $PPID"))
	g.s.WithBoundary(boundary(g.a, g.b)).SetRoots(one, rootsAt(g.a, g.b))
	if now := strings.TrimSpace(g.shell("echo $PPID")); now != pid || g.reads(g.b) {
		t.Errorf("it was %s and is %s, reads b %t", pid, now, g.reads(g.b))
	}
	g.s.WithBoundary(boundary(g.b)).SetRoots(one, rootsAt(g.b))
	now := strings.TrimSpace(g.shell("echo $PPID"))
	if now == pid || g.reads(g.a) || !g.reads(g.b) {
		t.Errorf("narrower: it was %s and is %s, reads a %t, b %t", pid, now, g.reads(g.a), g.reads(g.b))
	}
	// What it may open has left its place, which is less.
	if err := errors.Join(os.Rename(g.b, g.out+"/b"), os.Mkdir(g.b, 0o700)); err != nil {
		t.Fatal(err)
	}
	if next := strings.TrimSpace(g.shell("echo $PPID")); next == now || g.reads(g.out+"/b") {
		t.Errorf("moved: it was %s and is %s, reads what was moved %t", now, next, g.reads(g.out+"/b"))
	}
	// What comes to be there is more.
	later := filepath.Join(g.out, "later")
	g.s.WithBoundary(boundary(later)).SetRoots(one, rootsAt(later))
	now = strings.TrimSpace(g.shell("echo $PPID"))
	if err := errors.Join(os.Mkdir(later, 0o700), os.WriteFile(later+"/file", []byte(canary), 0o600)); err != nil {
		t.Fatal(err)
	}
	if next := strings.TrimSpace(g.shell("echo $PPID")); next != now || g.reads(later) {
		t.Errorf("made later: it was %s and is %s, reads it %t", now, next, g.reads(later))
	}
	l := acquire(t, g.s, one)
	defer l.Release()
	if l.OpensPath(later+"/file", sandbox.Read) {
		t.Error("what it was not started with counts as open to it")
	}
}

// TestLacksAreSaidOnce: what is true of two servers that no one has asked to hold is said
// once, and of one that someone has asked for it is a warning of its own.
func TestLacksAreSaidOnce(t *testing.T) {
	t.Parallel()
	auto := sandbox.Settings{Mode: sandbox.Auto, Default: true, Network: sandbox.Network{On: true}}
	var log bytes.Buffer
	options := children.SupervisorOptions{Log: zerolog.New(zerolog.SyncWriter(&log))}
	for _, name := range []string{"kid", "other", "asked"} {
		spec := childtest.Spec(name, childtest.Script{})
		spec.Sandbox = auto
		spec.Sandbox.Default = name != "asked"
		options.Specs = append(options.Specs, spec)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, done := children.NewSupervisor(options), make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	for _, child := range options.Specs {
		k := spec.Key{Child: child.Name, Instance: one.Instance}
		s.WithBoundary(sandbox.Boundary{WhyOpen: "nobody said"}).EnsureInstance(k, nil)
		l := acquire(t, s, k)
		if r := l.KernelReport(); r.Mode != sandbox.Auto || r.State != sandbox.None || len(r.Lacks) == 0 {
			t.Errorf("%s: %+v", child.Name, r)
		}
		l.Release()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var said []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "the kernel does not hold") {
			said = append(said, line)
		}
	}
	if len(said) != 2 || !strings.Contains(said[0], `"level":"info"`) || !strings.Contains(said[1], `"level":"warn"`) {
		t.Errorf("said %d times: %q", len(said), said)
	}
}

// TestConfinedAsAnotherUser runs what is here as a user without rights.
func TestConfinedAsAnotherUser(t *testing.T) {
	t.Parallel()
	childtest.AsAnotherUser(t,
		"TestConfinedShell", "TestConfinedRootsChange", "TestConfinedPlacesChange", "TestConfinedCallsEndFirst",
		"TestConfinedWidenRefused", "TestSocketsAreNamed")
}
