package consent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sharedIn makes what stands for /var/tmp, and the Store of a user whose state lies at home.
func sharedIn(t *testing.T) (shared string, s *Store) {
	t.Helper()
	shared, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	state := filepath.Join(home, ".local", "state", "mcphub")
	dir, closed := placeIn(shared, state, home)
	return shared, &Store{state, "", func() place { return place{dir, closed} }}
}

// TestWhereAStoreLies: beyond the home folder where the state is in that, and in the state where the operator has put
// that elsewhere or nothing else is to be relied on.
func TestWhereAStoreLies(t *testing.T) {
	t.Parallel()
	shared, s := sharedIn(t)
	home := filepath.Dir(filepath.Dir(filepath.Dir(s.state)))
	inside := filepath.Join(s.state, "consent")
	if filepath.Dir(s.place().dir) != s.place().closed || filepath.Dir(s.place().closed) != shared {
		t.Errorf("%s in %s", s.place().dir, s.place().closed)
	}
	if dir, _ := placeIn(shared, home+"2/state", home); dir != home+"2/state/consent" {
		t.Errorf("of a state that is not at home: %s", dir)
	}
	if dir, _ := placeIn(shared, s.state, ""); dir != inside {
		t.Errorf("without a home: %s", dir)
	}
	for _, spoil := range []struct {
		name string
		do   func() error
		mine bool // then nothing else takes its place: a confined server could have done that
	}{
		{"a file", func() error { return os.WriteFile(s.place().closed, nil, 0o600) }, true},
		{"a link", func() error { return os.Symlink(t.TempDir(), s.place().closed) }, true},
		{"open to others", func() error { return errors.Join(os.Mkdir(s.place().closed, 0o700), os.Chmod(s.place().closed, 0o755)) }, true}, //nolint:gosec // that is what is refused
		{"another user's", func() error {
			return errors.Join(os.Mkdir(s.place().closed, 0o700), os.Chown(s.place().closed, 65534, 65534))
		}, false},
	} {
		if err := spoil.do(); errors.Is(err, os.ErrPermission) && !spoil.mine {
			do(t, os.RemoveAll(s.place().closed))
			continue // only root can give it away
		} else if err != nil {
			t.Fatal(err)
		}
		want := s.place().dir
		if !spoil.mine {
			want = inside
		}
		if dir, _ := placeIn(shared, s.state, home); dir != want {
			t.Errorf("%s: %s", spoil.name, dir)
		}
		if _, _, err := s.Accepted("file"); err == nil {
			t.Errorf("%s: it is read", spoil.name)
		}
		if err := s.Take(Item{ID: "file", Value: []byte("1")}); err == nil {
			t.Errorf("%s: it is written", spoil.name)
		}
		do(t, os.RemoveAll(s.place().closed))
	}
	do(t, s.Take(Item{ID: "file", Value: []byte("1")}))
	fi, err := os.Stat(filepath.Join(s.place().dir, file(accepted, "file")))
	do(t, err)
	if fi.Mode() != FileMode {
		t.Errorf("mode %v", fi.Mode())
	}
}

// TestACopyOfTheRecord: a machine that loses what lies beyond the home folder, as a container does, still knows where servers
// could write. What is said there of a hub that is on record beyond counts nothing.
func TestACopyOfTheRecord(t *testing.T) {
	t.Parallel()
	_, s := sharedIn(t)
	i := Item{ID: "file", Value: []byte("1"), Paths: []string{filepath.Join(t.TempDir(), "hub.json")}}
	r := s.Reach()
	do(t, r.Serves(ClientProcess{PID: 42, Start: 7}), r.Add(filepath.Dir(i.Paths[0])))
	copies, err := filepath.Glob(filepath.Join(s.inState(), reach, "*"+reachEnd))
	do(t, err)
	if len(copies) != 1 {
		t.Fatalf("copies: %q", copies)
	}
	kept, err := os.ReadFile(copies[0])
	do(t, err, os.WriteFile(copies[0], []byte("{}\n"), 0o600))
	if _, could := s.CouldBeWritten(i); !could {
		t.Error("a server makes the record say nothing")
	}
	r.Close()
	do(t, os.WriteFile(copies[0], kept, 0o600), os.RemoveAll(s.place().closed))
	if _, could := s.CouldBeWritten(i); !could {
		t.Error("it is forgotten with the folder")
	}
	do(t, s.Take(i))
	if _, could := s.CouldBeWritten(i); could {
		t.Error("it counts after it was accepted")
	}
}

// TestARecordThatCannotBeWritten is told, and the client of the hub is not forgotten over it.
func TestARecordThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	_, s := sharedIn(t)
	r := s.Reach()
	do(t, os.WriteFile(s.place().closed, nil, 0o600))
	if r.Serves(ClientProcess{PID: 42, Start: 7}) == nil || r.Add("/elsewhere") == nil {
		t.Error("it is written into a file that is no folder")
	}
	do(t, os.Remove(s.place().closed), r.Add("/elsewhere"))
	if all, err := s.Clients(); err != nil || len(all) != 1 || all[0].PID != 42 {
		t.Errorf("clients: %v, %v", all, err)
	}
}

// TestACopyThatIsNoFile: what a server puts instead of a copy of the record holds no one up, and counts as damaged.
func TestACopyThatIsNoFile(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"a link to nothing":      func(path string) error { return os.Symlink("nothing", path) },
		"a pipe":                 func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a file that is too big": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
	} {
		_, s := sharedIn(t)
		do(t, s.Reach().Add("/elsewhere"))
		copied := filepath.Join(s.inState(), reach, "x")
		do(t, put(copied+reachEnd), unix.Mkfifo(copied+lockedName, 0o600))
		if _, could := s.CouldBeWritten(Item{ID: "file", Paths: []string{"/here/file"}}); !could {
			t.Errorf("%s counts as if it were not there", name)
		}
		do(t, s.Take(Item{ID: "file", Value: []byte("1")}))
	}
}

// TestACopyThatNamesNoPlace: a record that a server has put among the copies makes no link count.
func TestACopyThatNamesNoPlace(t *testing.T) {
	t.Parallel()
	_, s := sharedIn(t)
	home := t.TempDir()
	do(t, s.Reach().Add(home))
	link := filepath.Join(home, "out")
	do(t, os.Symlink(t.TempDir(), link))
	lead := Lead{Name: link, By: []string{link}, To: []string{"/elsewhere"}, Dry: true}
	if why, _ := s.WhyNotLed(lead); why == "" {
		t.Fatal("control: it counts")
	}
	forged := `{"dir":"` + strings.Repeat("x", 1000) + `"}` + "\n"
	do(t, os.WriteFile(filepath.Join(s.inState(), reach, "x"+reachEnd), []byte(forged), 0o600))
	if why, _ := s.WhyNotLed(lead); why == "" {
		t.Error("it counts")
	}
}
