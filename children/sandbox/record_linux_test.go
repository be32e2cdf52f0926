package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/e2e/needs"
)

// recorded runs a shell command without a sandbox, and returns what was noted.
func recorded(t *testing.T, p *sandbox.Profile, dir, command string) (*sandbox.Recorder, string) {
	t.Helper()
	return recordedBy(t, &sandbox.Recorder{Free: true}, p, dir, command)
}

func recordedBy(t *testing.T, r *sandbox.Recorder, p *sandbox.Profile, dir, command string) (*sandbox.Recorder, string) {
	t.Helper()
	box, err := r.Ruleset(sandbox.CurrentKernel(), p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
	cmd.Dir = dir
	out := entered(box, cmd)
	if err := r.Refused(); err != nil {
		needs.Missing(t, "nothing can be recorded here: ", err)
	}
	return r, out
}

// uses returns the notes of what lies in a folder, one a line.
func uses(r *sandbox.Recorder, dir string) string {
	var b strings.Builder
	for _, u := range r.Uses() {
		if rel, err := filepath.Rel(dir, u.Path); err == nil && filepath.IsLocal(rel) {
			fmt.Fprintf(&b, "%s %s", rel, u.Access)
			if u.Made {
				b.WriteString(" made")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// TestRecords: each way to use a file is noted by what it takes, as the kernel would have
// it, and what is not there is not.
func TestRecords(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	out := real(t.TempDir())
	root := real(t.TempDir())
	write := func(name string) {
		t.Helper()
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"read", "below/it", "append", "gone/file", "from/a", "both", "listed/x", "cut", "linked/far"} {
		write(name)
	}
	for _, dir := range []string{"to", "maker", "linker"} {
		if err := os.Mkdir(filepath.Join(out, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(out, "linked"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	tool, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "tool"), tool, 0o700); err != nil {
		t.Fatal(err)
	}
	r, said := recorded(t, profileFor(t, root), root, `set -e; o=`+out+`; cat $o/read >/dev/null
test ! -e $o/missing; ! cat $o/missing 2>/dev/null; (cd $o && cat below/../below/it >/dev/null); echo more >>$o/append; rm $o/gone/file
mv $o/from/a $o/to/a; echo x 3<>$o/both >/dev/null; ls $o/listed >/dev/null; : >$o/cut; cat link/../linked/far >/dev/null; echo x >inside
mkdir $o/maker/new; ln -s nowhere $o/linker/l; echo x >$o/fresh; $o/tool; ! mkdir $o/maker 2>/dev/null
python3 -c 'import os; d=os.open("'$o'/below",os.O_RDONLY); os.open("it",os.O_RDONLY,dir_fd=d)'`)
	if said != "" {
		t.Fatal(said)
	}
	want := `append write
below read
below/it read
both read, write
cut write
fresh write made
from write
gone write
linked/far read
linker/l write made
listed read
maker/new write made
read read
to write
tool read, execute
`
	if got := uses(r, out); got != want {
		t.Errorf("noted was\n%swant\n%s", got, want)
	}
	if got := uses(r, root); got != "" {
		t.Errorf("what is allowed was noted: %s", got)
	}
	for _, u := range r.Uses() {
		if !sandbox.Contains(out, u.Path) {
			t.Logf("beside these: %+v", u)
		}
	}
}

// TestRecordsSockets: unix sockets and ports.
func TestRecordsSockets(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	dir := real(t.TempDir())
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	r, said := recorded(t, profileFor(t, dir), dir, fmt.Sprintf(`exec python3 -c '
import socket
s=socket.socket(socket.AF_UNIX); s.bind("own"); s.listen(); c=socket.socket(socket.AF_UNIX); c.connect("own")
n=socket.socket(socket.AF_UNIX); n.connect_ex("nobody"); a=socket.socket(socket.AF_UNIX); a.connect_ex("\0abstract")
i=socket.socket(); i.connect(("127.0.0.1", %d))'`, port))
	if said != "" {
		t.Fatal(said)
	}
	// A name counts from where the process stands, which is not where this one does.
	want := []sandbox.Socket{{Path: filepath.Join(dir, "own"), Bound: true}, {Path: filepath.Join(dir, "own")}, {Path: "@abstract"}}
	if got := r.Sockets(); !slices.Equal(got, want) {
		t.Errorf("noted were %v, want %v", got, want)
	}
	if got := r.Ports(); !slices.Equal(got, []uint16{uint16(port)}) {
		t.Errorf("noted were %v, want %d", got, port)
	}
}

// TestRecordingWaitsForNobody: many programs at a time, each of many processes, are
// started and recorded while the runtime of this one is stopped again and again.
func TestRecordingWaitsForNobody(t *testing.T) {
	t.Parallel()
	dir, out := real(t.TempDir()), real(t.TempDir())
	if err := os.WriteFile(filepath.Join(out, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := profileFor(t, dir)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				r, said := recorded(t, p, dir, "for i in 1 2 3 4 5; do cat "+out+"/file & done; wait")
				if got := uses(r, out); said != "" || got != "file read\n" {
					t.Errorf("said %q, noted %q", said, got)
				}
			}
		})
	}
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				stopTheWorld()
			}
		}
	}()
	wg.Wait()
	close(stop)
	<-stopped
}

// TestRecordedNameMayChange: what is noted is what the name was when it was looked at. A
// process that changes it meanwhile has something else opened, as it may: nothing is
// decided by the notes, and a sandbox made of them holds what it says.
func TestRecordedNameMayChange(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	dir, out := real(t.TempDir()), real(t.TempDir())
	for _, name := range []string{"shown", "meant"} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	race := `exec python3 -c '
import ctypes, threading, os
libc = ctypes.CDLL(None, use_errno=True)
a, b = b"` + out + `/shown\0", b"` + out + `/meant\0"
name = ctypes.create_string_buffer(a, len(a))
over = False
def swap():
    while not over:
        ctypes.memmove(name, b, len(b)); ctypes.memmove(name, a, len(a))
t = threading.Thread(target=swap); t.start()
seen = set()
tries = 0
while tries < 1000 or WANT not in seen: # its own time bounds the test
    tries += 1
    fd = libc.open(name, 0)
    if fd >= 0:
        seen.add(os.read(fd, 10)); os.close(fd)
over = True; t.join()
print(sorted(seen))'`
	p := profileFor(t, dir)
	r, said := recorded(t, p, dir, strings.ReplaceAll(race, "WANT", `b"meant"`))
	if !strings.Contains(said, "meant") {
		t.Errorf("the control has not read what it meant to: %s", said)
	}
	// Whatever was noted, only a person's answer makes rules of it.
	only := &sandbox.Profile{Rules: sandbox.Sorted(append(slices.Clone(p.Rules), sandbox.Rule{Path: filepath.Join(out, "shown"), Access: sandbox.Read})), Network: p.Network}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", strings.ReplaceAll(race, "WANT", `b"shown"`))
	cmd.Dir = dir
	said = confined(t, only, cmd)

	if !strings.Contains(said, "shown") || strings.Contains(said, "meant") {
		t.Errorf("with one of them open: %s (noted were %s)", said, uses(r, out))
	}
}

// stopTheWorld stops every thread of the runtime for a moment.
func stopTheWorld() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.GC()
}

// TestRecordsWhatIsRefused: a recorder that is not free notes what a process would open, and
// the kernel refuses it all the same. A free one has it opened: the control.
func TestRecordsWhatIsRefused(t *testing.T) {
	t.Parallel()
	for name, free := range map[string]bool{"held": false, "free": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, root := real(t.TempDir()), real(t.TempDir())
			if err := os.WriteFile(filepath.Join(out, "read"), []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
			p := &sandbox.Profile{Network: sandbox.Network{On: true}, Rules: append(sandbox.BaseRules("/nowhere"), sandbox.Rule{Path: root, Access: sandbox.Read | sandbox.Write})}
			r, said := recordedBy(t, &sandbox.Recorder{Free: free}, p, root, "cat "+out+"/read; echo x > "+out+"/made; echo x > in")
			if got, want := uses(r, out), "made write made\nread read\n"; got != want {
				t.Errorf("noted\n%swanted\n%s(the shell said %s)", got, want, said)
			}
			if got := strings.Contains(said, "text"); got != free {
				t.Errorf("the file outside was read: %t, wanted %t (%s)", got, free, said)
			}
			if _, err := os.Stat(filepath.Join(out, "made")); (err == nil) != free {
				t.Errorf("a file was made outside: %t, wanted %t (%s)", err == nil, free, said)
			}
			if _, err := os.Stat(filepath.Join(root, "in")); err != nil {
				t.Errorf("nothing was made in the root: %s", said)
			}
		})
	}
}
