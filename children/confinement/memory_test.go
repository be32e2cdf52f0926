package confinement

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// An entry that names ever more fills its own share of the memory, and the names of other entries are remembered as before. Both hold for
// another hub, which reads the file.
func TestEachEntryHasAShareOfTheMemory(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	m := newMemory(state)
	long := strings.Repeat("x", 4000)
	var full error
	n := 0
	for ; full == nil && n < 1000; n++ {
		_, _, full = m.settledPlaces(memoryLine{Path: fmt.Sprintf("/ws/%d", n), Owner: "hostile", Leads: []string{"/ws/" + long}}, true)
	}
	if !errors.Is(full, errOwnFull) || n < 50 || n > maxOwned/4000+1 {
		t.Fatalf("after %d names: %v", n, full)
	}
	for _, m := range []*memory{m, newMemory(state)} {
		if _, ok, err := m.settledPlaces(memoryLine{Path: "/ws/0", Owner: "hostile", Leads: []string{"/ws/" + long}}, true); !ok || err != nil {
			t.Errorf("what it named before: %t %v", ok, err)
		}
		if _, ok, err := m.settledPlaces(memoryLine{Path: "/ws/more", Owner: "hostile", Leads: []string{"/ws/" + long}}, true); ok || !errors.Is(err, errOwnFull) {
			t.Errorf("what it names besides: %t %v", ok, err)
		}
		if _, ok, err := m.settledPlaces(memoryLine{Path: "/home/" + fmt.Sprintf("%p", m), Owner: "honest", Leads: []string{"/home/x"}}, true); !ok || err != nil {
			t.Errorf("another entry: %t %v", ok, err)
		}
	}
}

// Names that were found on the disk are forgotten when nothing leads by them any more and their entry's share is full: what is
// still there, and what a person has named, stays. While all is there nothing is forgotten, which is the control.
func TestNamesThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	state, dir := t.TempDir(), t.TempDir()
	link := func(n int) string { return filepath.Join(dir, fmt.Sprint(n)) }
	name := func(n int, to string) memoryLine {
		return memoryLine{Path: "module " + link(n), Owner: "entry", Leads: []string{to + strings.Repeat("x", 4000)}, found: found{By: []string{link(n)}}}
	}
	m := newMemory(state)
	keep := func(l memoryLine) (bool, error) {
		_, ok, err := m.settledPlaces(l, true)
		return ok, err
	}
	own := memoryLine{Path: "/vault", Owner: "entry", Leads: []string{"/vault/"}}
	packages := filepath.Join(dir, "x.pth")
	said := memoryLine{Path: "packages of x.pth in /b", Owner: "entry", Leads: []string{"/b/"}, found: found{By: []string{packages}, Says: "/b\n"}}
	for _, l := range []memoryLine{own, said} {
		if ok, err := keep(l); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	write := func(text string) {
		if err := os.WriteFile(packages, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("/a\n/b\n")
	n := 0
	for ; ; n++ {
		if err := os.Symlink("/usr", link(n)); err != nil {
			t.Fatal(err)
		}
		if _, err := keep(name(n, "/a")); errors.Is(err, errOwnFull) {
			break
		} else if err != nil || n > 1000 {
			t.Fatal(n, err)
		}
	}
	m = newMemory(state)
	if _, err := keep(name(n, "/a")); !errors.Is(err, errOwnFull) {
		t.Fatalf("while all links are there: %v", err)
	}
	for i := 1; i < n; i++ { // the first stays
		if err := os.Remove(link(i)); err != nil {
			t.Fatal(err)
		}
	}
	write("/a\n")
	m = newMemory(state)
	if ok, err := keep(name(n, "/a")); !ok || err != nil {
		t.Errorf("after they are gone: %t %v", ok, err)
	}
	m = newMemory(state)
	for _, want := range []struct {
		line  memoryLine
		known bool
	}{{own, true}, {name(0, ""), true}, {name(n, ""), true}, {name(1, ""), false}, {said, false}} {
		if got := m.knowsName(want.line.Path); got != want.known {
			t.Errorf("%s is remembered: %t", want.line.Path, got)
		}
	}
	if ok, err := keep(name(0, "/b")); ok || err != nil {
		t.Errorf("a link that stays leads elsewhere without a question: %t %v", ok, err)
	}
}

// While a hub replaces the file, no other one adds a line to the file that was: a hub that is killed then has taken nothing from it. What cannot be
// remembered opens nothing.
func TestNothingIsAddedWhileTheFileIsReplaced(t *testing.T) {
	t.Parallel()
	m := newMemory(t.TempDir())
	line := func(path string) memoryLine { return memoryLine{Path: path, Owner: "kid", Leads: []string{"/x"}} }
	if _, ok, err := m.settledPlaces(line("first"), true); !ok || err != nil {
		t.Fatal(ok, err)
	}
	dir, err := m.consent.Folder()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, memoryName)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := lockFile(file, true) // as another hub
	if err != nil {
		t.Fatal(err)
	}
	_, ok, err := m.settledPlaces(line("second"), true)
	after, errRead := os.ReadFile(file)
	if ok || err == nil || errRead != nil || string(after) != string(before) {
		t.Errorf("it opens: %t %v %v; the file holds %s", ok, err, errRead, after)
	}
	unlock()
	if _, ok, err := m.settledPlaces(line("second"), true); !ok || err != nil {
		t.Error(ok, err)
	}
}

// No hub loses what it adds while another one forgets.
func TestNothingIsLostWhileNamesAreForgotten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing is confined on Windows, where a line is added to a file in two steps")
	}
	t.Parallel()
	state, stop := t.TempDir(), make(chan struct{})
	sweeper := newMemory(state)
	var swept, all sync.WaitGroup
	swept.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			sweeper.mu.Lock()
			err := sweeper.addLine(memoryLine{Path: fmt.Sprint("gone ", n), found: found{By: []string{filepath.Join(state, "no such link")}}})
			sweeper.swept = time.Time{}
			if dir, errDir := sweeper.consent.Folder(); err != nil || errDir != nil || !sweeper.sweepGone(filepath.Join(dir, memoryName)) {
				t.Errorf("nothing is forgotten: %v %v", err, errDir)
			}
			sweeper.mu.Unlock()
		}
	})
	const each = 200
	for hub := range 4 {
		all.Go(func() {
			m := newMemory(state)
			for n := range each {
				if _, ok, err := m.settledPlaces(memoryLine{Path: fmt.Sprint(hub, " ", n), Owner: fmt.Sprint(hub), Leads: []string{"/x"}}, true); !ok || err != nil {
					t.Errorf("%d %d: %t %v", hub, n, ok, err)
				}
			}
		})
	}
	all.Wait()
	close(stop)
	swept.Wait()
	m := newMemory(state)
	for hub := range 4 {
		for n := range each {
			if !m.knowsName(fmt.Sprint(hub, " ", n)) {
				t.Errorf("%d %d is lost", hub, n)
			}
		}
	}
}

// The share of an entry is the same to the hub that has written its lines and to one that reads them.
func TestSharesAreCountedAlike(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	m := newMemory(state)
	for n := range 10 {
		if _, ok, err := m.settledPlaces(memoryLine{Path: fmt.Sprintf("/ws/%d", n), Owner: "entry", Leads: []string{"/ws/x"}}, true); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	other := newMemory(state)
	if err := other.readIfChanged(); err != nil {
		t.Fatal(err)
	}
	if m.sizes["entry"] == 0 || m.sizes["entry"] != other.sizes["entry"] {
		t.Errorf("%d bytes for the writer, %d for the reader", m.sizes["entry"], other.sizes["entry"])
	}
}
