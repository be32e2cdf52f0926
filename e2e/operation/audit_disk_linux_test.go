package operation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

var marker = regexp.MustCompile(`call-\d+-\d+-`)

// disk is a place for an audit folder that can be made full.
type disk struct {
	dir  string
	full func(s *world.Session)
	room func()
}

// smallDisk returns a file system of its own; only root may make one.
func smallDisk(w *world.World) disk {
	w.T.Helper()
	dir := w.Path("disk")
	world.Must(w.T, os.Mkdir(dir, 0o700))
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=128k,mode=700")
	if errors.Is(err, unix.EPERM) {
		needs.Missing(w.T, "no tmpfs can be mounted")
	}
	world.Must(w.T, err)
	w.T.Cleanup(func() { world.Must(w.T, unix.Unmount(dir, 0)) })
	filler := filepath.Join(dir, "filler")
	return disk{filepath.Join(dir, "audit"), func(*world.Session) {
		f, err := os.Create(filler)
		world.Must(w.T, err)
		for chunk := make([]byte, 4096); err == nil; {
			_, err = f.Write(chunk)
		}
		if !errors.Is(err, unix.ENOSPC) {
			w.T.Fatal(err)
		}
		world.Must(w.T, f.Close())
	}, func() { world.Must(w.T, os.Remove(filler)) }}
}

// shortFiles returns a bound on how long the hub's files may get.
func shortFiles(w *world.World) disk {
	pid := 0
	bound := func(bytes uint64) {
		world.Must(w.T, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil))
	}
	dir := w.Path("audit")
	return disk{dir, func(s *world.Session) {
		if pid = world.HubProper(w.T, s.PID()); pid == 0 {
			pid = s.PID()
		}
		names, err := filepath.Glob(filepath.Join(dir, "*-*.jsonl"))
		world.Must(w.T, err)
		fi, err := os.Stat(names[0])
		world.Must(w.T, err)
		bound(uint64(fi.Size()) + 100)
	}, func() { bound(unix.RLIM_INFINITY) }}
}

// TestADiskThatIsFull: a full disk denies where the record is required, and is
// shouted about if it is not; when there is room again the chain goes on
// without a gap, and every call that reached the child has its line.
func TestADiskThatIsFull(t *testing.T) {
	for name, small := range map[string]func(*world.World) disk{"disk": smallDisk, "limit": shortFiles} {
		for _, required := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, required %v", name, required), func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				d := small(w)
				s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}, obj{"audit": obj{"dir": d.dir, "required": required, "arguments": true}}), ide.Folders(w.Project))
				s.Handshake()
				n := 0
				try := func() ide.ToolResult {
					n++
					args := fmt.Sprintf(`{"text":"call-%d-%d-"}`, n, n)
					if n%2 == 0 {
						args = fmt.Sprintf(`{"text":"call-%d-%d-","path":%q}`, n, n, filepath.Join(w.Project, "hello.txt"))
					}
					return s.AwaitCall(s.SendCall("rec__echo", args))
				}
				for range 4 {
					if r := try(); r.IsError {
						t.Fatal(r.Text)
					}
				}
				d.full(s)
				var r ide.ToolResult
				if required {
					for r = try(); !r.IsError && n < 100; r = try() { // until the last page is full
					}
					reached := world.Calls(w.Recorded("rec"), "echo")
					r = try()
					log, _ := filepath.Glob(filepath.Join(d.dir, "*-*.jsonl"))
					for _, part := range []string{"audit.required", "make room", filepath.Base(log[0])} {
						if !r.IsError || !strings.Contains(r.Text, part) {
							t.Errorf("the denial does not say %q: %s", part, r.Text)
						}
					}
					if now := world.Calls(w.Recorded("rec"), "echo"); now != reached {
						t.Errorf("%d calls reached the child that could not be recorded", now-reached)
					}
				} else {
					for range 40 {
						if r = try(); r.IsError {
							t.Fatalf("it was denied: %s", r.Text)
						}
					}
				}
				if !world.Within(world.WaitLimit, func() bool { return strings.Contains(s.Stderr(), "THE AUDIT LOG CANNOT BE WRITTEN") }) || !strings.Contains(s.Stderr(), d.dir) {
					t.Errorf("nobody was warned: %s", s.Stderr())
				}
				if text := s.MustCall("get-roots", `{}`).Text; !strings.Contains(text, d.dir) || !strings.Contains(text, `"unrecorded"`) {
					t.Errorf("get-roots does not say it: %s", text)
				}
				d.room()
				if !world.Within(world.WaitLimit, func() bool { return !try().IsError && strings.Contains(s.Stderr(), "written again") }) {
					t.Fatalf("it is not written again: %s", s.Stderr())
				}
				s.End(world.StopBound)
				wholeRecord(w, d.dir, "rec")
			})
		}
	}
}

// wholeRecord checks a folder with both verifiers, and that every call that
// reached a child has its line.
func wholeRecord(w *world.World, dir, child string) {
	w.T.Helper()
	r, err := trail.Verify(dir)
	world.Must(w.T, err)
	for _, p := range r.Problems {
		w.T.Errorf("%s", p)
	}
	if r.Open != 0 {
		w.T.Errorf("%+v", r)
	}
	if world.NPM.Program != "" {
		if said, ok := independent(w, world.NPM, dir); !ok {
			w.T.Errorf("the other program: %s", said)
		}
	}
	have := map[string]bool{}
	world.Must(w.T, trail.Read(dir, func(e trail.Event) bool {
		if e.Kind == audit.KindLost {
			w.T.Errorf("%d lines were lost", e.Lines)
		}
		for _, one := range e.Each() {
			have[marker.FindString(string(one.Arguments))] = true
		}
		return true
	}))
	reached := 0
	for line := range strings.Lines(w.Recorded(child)) {
		if id := marker.FindString(line); id != "" {
			reached++
			if !have[id] {
				w.T.Errorf("%s reached the child and is not recorded", id)
			}
		}
	}
	if reached == 0 {
		w.T.Error("no call reached the child: nothing was shown")
	}
}

// A hub that starts while the disk is full begins its log when there is room.
func TestAHubThatStartsOnAFullDisk(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	d := smallDisk(w)
	world.Must(t, os.Mkdir(d.dir, 0o700))
	d.full(nil)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}, obj{"audit": obj{"dir": d.dir, "required": true, "arguments": true}}), ide.Folders(w.Project))
	s.Handshake()
	for range 5 {
		r := s.AwaitCall(s.SendCall("rec__echo", `{"text":"call-1-1-"}`))
		if !r.IsError || !strings.Contains(r.Text, d.dir) || !strings.Contains(r.Text, "no space left") {
			t.Errorf("%s", r.Text)
		}
	}
	d.room()
	if !world.Within(world.WaitLimit, func() bool { return !s.AwaitCall(s.SendCall("rec__echo", `{"text":"call-2-2-"}`)).IsError }) {
		t.Fatalf("it is not written: %s", s.Stderr())
	}
	s.End(world.StopBound)
	wholeRecord(w, d.dir, "rec")
	if logs, _ := filepath.Glob(filepath.Join(d.dir, "*-*.jsonl")); len(logs) != 1 {
		t.Errorf("attempts have left %v", logs)
	}
}
