package trail

import (
	"context"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"mcphub/e2e/recordtest"
	"mcphub/hub/audit"
)

// large writes a record of which each line is a second after the one before.
func large(t *testing.T, lines int, change func(*recordtest.Shape)) (dir string, s recordtest.Shape, size int64) {
	t.Helper()
	dir = t.TempDir()
	s = recordtest.Shape{Lines: lines, PerFile: lines / 8, Began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Every: time.Second, Principals: 20, Sessions: 100}
	if change != nil {
		change(&s)
	}
	for _, path := range recordtest.Write(t, dir, s) {
		size += sizeOf(t, path)
	}
	return dir, s, size
}

// readAll returns what a record tells, as one does that keeps all of it in memory.
func readAll(t *testing.T, dir string) (all []Decision) {
	t.Helper()
	outcomes, clients := map[audit.CallPosition]audit.Outcome{}, Clients{}
	if err := Read(dir, func(e Event) bool {
		clients.Note(&e)
		for _, r := range e.AllOutcomes() {
			outcomes[r.DecisionPosition()] = r
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if err := Read(dir, func(e Event) bool {
		completeClient(&e, clients[e.Session])
		for _, one := range e.Each() {
			d := Decision{Event: one}
			if r, ok := outcomes[one.Position()]; ok && one.Kind == audit.KindDecision {
				d.Outcome = &r
			}
			all = append(all, d)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReadersAgree: a reading that keeps little finds what one finds that keeps all, in both directions and with each
// filter; outcomes that come at the end of the record, and clients that came at its beginning.
func TestReadersAgree(t *testing.T) {
	t.Parallel()
	dir, s, _ := large(t, 6000, func(s *recordtest.Shape) { s.Late = 300 })
	all := readAll(t, dir)
	at := func(line int) time.Time { return s.Began.Add(time.Duration(line) * s.Every) }
	for name, f := range map[string]Filter{
		"all":              {},
		"since":            {Since: at(5000)},
		"a span":           {Since: at(2000), Until: at(2100)},
		"before":           {Until: at(3_000)},
		"a principal":      {Principal: "p7", Denied: true},
		"principals":       {Principal: "p1?"},
		"a session":        {Session: "00000033"},
		"a client":         {Client: "client-3"},
		"clients":          {Client: "client-1* 1.0"},
		"an address":       {Address: "10.0.0.4"},
		"a path":           {Path: "/home/p3/project"},
		"paths":            {Path: "/home/*/project/file100*.txt"},
		"a rule":           {Rule: "no path"},
		"rules":            {Rule: "b*"},
		"a decision":       {Decision: "deny"},
		"a server, a tool": {Child: "git", Tool: "log"},
		"nothing":          {Principal: "p"},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(d Decision) bool { return !f.Matches(&d.Event) })
		if (len(want) == 0) != (name == "nothing") {
			t.Fatalf("%s: %d decisions", name, len(want))
		}
		got, err := Decisions(dir, f)
		if err != nil || !reflect.DeepEqual(got, want) && !(len(got) == 0 && len(want) == 0) {
			t.Errorf("%s: %d decisions of %d, or others: %v", name, len(got), len(want), err)
		}
		for _, most := range []int{20, 1 << 30} {
			last := want[max(0, len(want)-most):]
			got, err := Last(t.Context(), dir, f, most)
			if f.Until.IsZero() && (err != nil || !reflect.DeepEqual(got, last) && !(len(got) == 0 && len(last) == 0)) {
				t.Errorf("%s, the last %d: %d decisions of %d, or others: %v", name, most, len(got), len(last), err)
			}
		}
	}
}

// TestReadersReadLittle: the newest decisions, and those of a time, cost the same however long the record is.
func TestReadersReadLittle(t *testing.T) {
	t.Parallel()
	dir, s, size := large(t, 40_000, nil)
	for name, read := range map[string]func(*folder) (int, error){
		"the last 20": func(d *folder) (int, error) {
			all, err := d.lastDecisions(context.Background(), Filter{}, 20)
			return len(all), err
		},
		"the last hour": func(d *folder) (n int, err error) {
			err = d.eachDecision(Filter{Since: s.Began.Add(time.Duration(s.Lines)*s.Every - time.Hour/8)}, func(*Decision) bool { n++; return true })
			return n, err
		},
		"an hour in between": func(d *folder) (n int, err error) {
			from := s.Began.Add(time.Duration(s.Lines/4) * s.Every)
			err = d.eachDecision(Filter{Since: from, Until: from.Add(time.Hour / 8)}, func(*Decision) bool { n++; return true })
			return n, err
		},
	} {
		took := int64(0)
		n, err := read(&folder{dir, func(b int) { took += int64(b) }, 1 << 20})
		if n < 20 || err != nil {
			t.Errorf("%s: %d decisions: %v", name, n, err)
		}
		t.Logf("%s: %d decisions, %d bytes of %d", name, n, took, size)
		if took > size/4 {
			t.Errorf("%s: %d bytes of %d were read", name, took, size)
		}
	}
	all := int64(0)
	if err := (&folder{dir, func(b int) { all += int64(b) }, 0}).eachDecision(Filter{}, func(*Decision) bool { return true }); err != nil || all < size {
		t.Errorf("all was read, and %d bytes of %d were counted: %v", all, size, err)
	}
}

// TestReadersKeepLittle: what a reading holds in memory does not grow with the record.
func TestReadersKeepLittle(t *testing.T) { // not in parallel: it measures the heap
	dir, _, size := large(t, 40_000, func(s *recordtest.Shape) { s.Sessions = 20_000 })
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most, n := heap(), int64(0), 0
	look := func() bool {
		if n++; n%2000 == 0 {
			most = max(most, heap()-before)
		}
		return true
	}
	if err := Each(dir, Filter{}, func(*Decision) bool { return look() }); err != nil || n < 20_000 {
		t.Fatal(n, err)
	}
	forward := most
	most = 0
	if _, err := Newest(t.Context(), dir, Filter{}, func(Decision) bool { return look() }); err != nil {
		t.Fatal(err)
	}
	t.Logf("of %d bytes %d were kept forward, %d backward", size, forward, most)
	if forward > size/4 || most > size/4 {
		t.Errorf("of %d bytes %d were kept forward, %d backward", size, forward, most)
	}
	all, err := Decisions(dir, Filter{})
	if kept := heap() - before; err != nil || kept < size/2 {
		t.Errorf("one that keeps all of it holds %d bytes: %v", kept, err)
	}
	runtime.KeepAlive(all)
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

// TestReadersBesideARemoval: a file that is removed while the record is read ends no reading.
func TestReadersBesideARemoval(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(dir string, each func() bool) error{
		"forward": func(dir string, each func() bool) error {
			return Each(dir, Filter{}, func(*Decision) bool { return each() })
		},
		"backward": func(dir string, each func() bool) error {
			_, err := Newest(t.Context(), dir, Filter{}, func(Decision) bool { return each() })
			return err
		},
	} {
		dir, _, _ := large(t, 4000, nil)
		files, err := audit.LogFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		paths, n := files[recordtest.ID], 0
		err = read(dir, func() bool {
			if n++; n == 1 {
				for _, path := range paths[:3] {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			return true
		})
		if err != nil || n < 1000 {
			t.Errorf("%s: %d decisions: %v", name, n, err)
		}
	}
}
