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

	"mcphub/e2e/bounds"
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
	unlock, err := lockFile(file, true, m.wait) // as another hub
	if err != nil {
		t.Fatal(err)
	}
	m.wait = time.Millisecond
	_, ok, err := m.settledPlaces(line("second"), true)
	after, errRead := os.ReadFile(file)
	if ok || err == nil || errRead != nil || string(after) != string(before) {
		t.Errorf("it opens: %t %v %v; the file holds %s", ok, err, errRead, after)
	}
	unlock()
	m.wait = lockWait
	if _, ok, err := m.settledPlaces(line("second"), true); !ok || err != nil {
		t.Error(ok, err)
	}
}

func init() { lockWait = bounds.Patience }

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

// A name is gone if nothing leads by it any more. What cannot be looked at may be there.
func TestWhichNamesAreGone(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "x.pth")
	if err := os.WriteFile(file, []byte("/a\n/b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(dir, "gone")
	for name, tc := range map[string]struct {
		f    found
		want bool
	}{
		"of the entry":          {found{}, false},
		"there":                 {found{By: []string{file}}, false},
		"not there":             {found{By: []string{gone}}, true},
		"below a file":          {found{By: []string{filepath.Join(file, "x")}}, true},
		"one of two":            {found{By: []string{gone, file}}, false},
		"said":                  {found{By: []string{file}, Says: "/b\n"}, false},
		"no more said":          {found{By: []string{file}, Says: "/c\n"}, true},
		"that cannot be opened": {found{By: []string{filepath.Join(dir, strings.Repeat("x", 4000))}, Says: "/c\n"}, false},
	} {
		if got := tc.f.isGone(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A hub that adds a line reads the lines that another one has added before, however it has read the file.
func TestLinesOfAnotherHubAreRead(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	state := t.TempDir()
	line := func(path string) memoryLine { return memoryLine{Path: path, Owner: "entry", Leads: []string{"/x"}} }
	add := func(m *memory, path string) {
		t.Helper()
		if err := m.addLine(line(path)); err != nil {
			t.Fatal(err)
		}
	}
	first, second := newMemory(state), newMemory(state)
	add(first, "a")
	if (first.read == fileState{}) {
		t.Error("the first hub is to read its own line")
	}
	add(second, "b") // without a look at the file
	if !second.knowsName("a") || !second.knowsName("b") {
		t.Error("the second hub does not know both names")
	}
	add(first, "c")
	for _, path := range []string{"a", "b", "c"} {
		if !first.knowsName(path) {
			t.Errorf("the first hub does not know %s", path)
		}
	}
	read := first.read
	add(first, "d")
	if first.read == read {
		t.Error("the first hub is to read its own line, though no other hub has added one")
	}
	if dir, err := first.consent.Folder(); err != nil || os.Remove(filepath.Join(dir, memoryName)) != nil {
		t.Fatal(err)
	}
	if first.knowsName("z") || len(first.led) != 0 || first.knowsName("a") {
		t.Error("the file is gone, and names are known")
	}
}

// No server is to open the folder of what persons have accepted. If nothing is kept, there is none.
func TestTheClosedFolder(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	for want, h := range map[bool]Host{true: {memory: newMemory(t.TempDir())}, false: {memory: newMemory("")}} {
		if got := h.closedFolder(); (got != "") != want {
			t.Errorf("%q", got)
		}
	}
	state := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(state, "far", "deep"), 0o700), os.Symlink(filepath.Join("far", "deep"), filepath.Join(state, "to")), os.Symlink(filepath.Join(state, "to")+"/../y", filepath.Join(state, "odd"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(state, "far", "y"), 0o700); err != nil {
		t.Fatal(err)
	}
	m := newMemory(filepath.Join(state, "odd"))
	if _, err := m.consent.MakeFolder(); err != nil {
		t.Fatal(err)
	}
	if got := (Host{memory: m}).closedFolder(); got == "" {
		t.Error("there is none by a link with .. in the middle")
	}
	if got := (Host{}).closedFolder(); got != "" {
		t.Errorf("without a memory: %q", got)
	}
}

// A preview remembers nothing that lasts, asks no one, and takes no question back.
func TestAPreviewLeavesNoTrace(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	var none *memory
	if none.previewCopy() != nil {
		t.Error("there is a copy of nothing")
	}
	m := newMemory(t.TempDir())
	line := func(to string) memoryLine { return memoryLine{Path: "a", Owner: "entry", Leads: []string{to}} }
	if _, ok, err := m.settledPlaces(line("/x"), true); !ok || err != nil {
		t.Fatal(ok, err)
	}
	count := func() int {
		t.Helper()
		list, err := m.consent.Questions()
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	p := m.previewCopy()
	if was, ok, err := p.settledPlaces(line("/y"), true); ok || err != nil || len(was) != 1 || count() != 0 {
		t.Errorf("a change: %q %t %v, and %d questions", was, ok, err, count())
	}
	if !p.noteAbsent(memoryLine{Path: "b"}) || p.noteAbsent(memoryLine{Path: "b"}) || m.knowsName("b") {
		t.Error("a name of a preview is lost at once, or lasts")
	}
	if _, ok, err := m.settledPlaces(line("/y"), false); ok || err != nil || count() != 0 {
		t.Errorf("what is not asked about: %t %v, and %d questions", ok, err, count())
	}
	if _, ok, err := m.settledPlaces(line("/y"), true); ok || err != nil || count() != 1 {
		t.Errorf("a change: %t %v, and %d questions", ok, err, count())
	}
	if _, ok, err := m.previewCopy().settledPlaces(line("/x"), true); !ok || err != nil || count() != 1 {
		t.Errorf("a preview of what it was: %t %v, and %d questions", ok, err, count())
	}
	if _, ok, err := m.settledPlaces(line("/x"), true); !ok || err != nil || count() != 0 {
		t.Errorf("what it was: %t %v, and %d questions", ok, err, count())
	}
}

// Another hub's question is taken back by a hub that has not asked it.
func TestAQuestionOfAnotherHubIsTakenBack(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	state := t.TempDir()
	line := func(to string) memoryLine { return memoryLine{Path: "a", Owner: "entry", Leads: []string{to}} }
	first, second := newMemory(state), newMemory(state)
	for _, to := range []string{"/x", "/y"} {
		if _, _, err := first.settledPlaces(line(to), true); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := second.settledPlaces(line("/x"), true); !ok || err != nil {
		t.Error(ok, err)
	}
	if list, err := second.consent.Questions(); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	second.listed = time.Now().Add(time.Hour) // the list is new, and holds no question
	if second.mayWait(Change{Path: "b"}.consentItem().ID) {
		t.Error("a question waits that no one has asked")
	}
	if _, _, err := first.settledPlaces(memoryLine{Path: "b", Leads: []string{"/x"}}, true); err != nil {
		t.Fatal(err)
	}
	if _, _, err := first.settledPlaces(memoryLine{Path: "b", Leads: []string{"/y"}}, true); err != nil {
		t.Fatal(err)
	}
	if second.mayWait(Change{Path: "b"}.consentItem().ID) {
		t.Error("the list was made again, although it is new")
	}
	for _, id := range []string{"never asked", Change{Path: "a"}.consentItem().ID} {
		if second.listed = time.Now().Add(-2 * listAge); second.mayWait(id) {
			t.Errorf("%s waits", id)
		}
	}
	second.listed = time.Now().Add(-2 * listAge)
	if !second.mayWait(Change{Path: "b"}.consentItem().ID) {
		t.Error("the list is old, and was not made again")
	}
}

// What a person has answered to another hub holds at once, though this one knows the name.
func TestAnswersToAnotherHub(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	state := t.TempDir()
	line := func(to string) memoryLine { return memoryLine{Path: "a", Owner: "entry", Leads: []string{to}} }
	first, second := newMemory(state), newMemory(state)
	for _, m := range []*memory{first, second} {
		if _, ok, err := m.settledPlaces(line("/x"), true); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	accepted := line("/y")
	accepted.Accepted = true
	if err := second.addLine(accepted); err != nil {
		t.Fatal(err)
	}
	if was, ok, err := first.settledPlaces(line("/y"), true); !ok || err != nil || len(was) != 1 || was[0] != "/y" {
		t.Errorf("%q %t %v", was, ok, err)
	}
}

// Which places are covered by what a name opened, and how they are shown.
func TestCoveredPlaces(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	for _, tc := range []struct {
		was, now []string
		want     bool
	}{
		{nil, nil, true}, {nil, []string{"/a"}, false}, {[]string{"/a"}, nil, true}, {[]string{"/a"}, []string{"/a"}, true}, {[]string{"/a"}, []string{"/a/"}, false}, {[]string{"/a"}, []string{"/a/b"}, false},
		{[]string{"/a/"}, []string{"/a"}, true}, {[]string{"/a/"}, []string{"/a/"}, true}, {[]string{"/a/"}, []string{"/a/b"}, true}, {[]string{"/a/"}, []string{"/ab"}, false}, {[]string{"/a/", "/b"}, []string{"/b", "/c"}, false}, {[]string{"/"}, []string{"/a/"}, true},
	} {
		if got := coversAll(tc.was, tc.now); got != tc.want {
			t.Errorf("%q of %q: %t", tc.now, tc.was, got)
		}
	}
	for place, want := range map[string]string{"/a/": "/a", "/a": "/a", "/": "/", "": ""} {
		if got := trimMark(place); got != want {
			t.Errorf("%q: %q", place, got)
		}
	}
	if got := leadsTo(nil); got == "" || strings.Contains(got, "/") || leadsTo([]string{"/a/", "/b"}) == got {
		t.Errorf("%q", got)
	}
}

// A question about a place that a name leads to no more is taken back, even if the answer to the question before it counts.
func TestAQuestionAfterAnAnswer(t *testing.T) {
	skipOnWindows(t)
	t.Parallel()
	m := newMemory(t.TempDir())
	for _, step := range []struct {
		to    string
		opens bool
		waits int // questions
	}{{"/x", true, 0}, {"/y", false, 1}, {"/z", false, 1}, {"/y", true, 0}} {
		_, ok, err := m.settledPlaces(memoryLine{Path: "a", Leads: []string{step.to}}, true)
		list, errList := m.consent.Questions()
		if ok != step.opens || len(list) != step.waits || err != nil || errList != nil {
			t.Fatalf("%s: opens %t, %d questions: %v %v", step.to, ok, len(list), err, errList)
		}
		if step.to == "/y" && len(list) == 1 {
			if err := m.consent.Accept(list[0].ID, list[0].Digest); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A line that would make the file too large is not added.
func TestAFullMemory(t *testing.T) {
	t.Parallel()
	m := newMemory(t.TempDir())
	dir, err := m.consent.MakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, memoryName), []byte(strings.Repeat(" ", maxMemory-1)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.addLine(memoryLine{Path: "a"}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// No name is new if the file cannot be read, because another hub may know the name.
func TestNamesInAFileThatCannotBeRead(t *testing.T) {
	m := newMemory(t.TempDir())
	dir, err := m.consent.MakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, memoryName), 0o700); err != nil {
		t.Fatal(err)
	}
	if m.noteAbsent(memoryLine{Path: "a"}) || m.knowsName("a") {
		t.Error("it is new, or known")
	}
}

// What is found on the disk leads on if there is no memory that tells who could have written it.
func TestPartsWithoutAMemory(t *testing.T) {
	var none *memory
	if why, inside := none.whyNotLed(part{name: "module /a", by: []string{"/a"}}, nil, []string{"/b/"}); why != "" || inside {
		t.Errorf("%q %t", why, inside)
	}
}

// A path that leads elsewhere by now than the plan has seen is not followed. Linux alone keeps names apart by their case.
func TestPathsThatLeadElsewhereByNow(t *testing.T) {
	h, at := smallHost(t, map[string]string{"a/x": "", "b/x": "", "link": "-> a"})
	m := newMemory(h.stateFolder())
	for seen, want := range map[string]bool{"a": false, "b": true, "A": runtime.GOOS == "linux"} {
		if why := m.whyLinked(at("link"), at(seen)); (why != "") != want {
			t.Errorf("seen at %s: %q", seen, why)
		}
	}
}
