package consent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcphub/rootsmgr/guard"
)

// ways is a home folder, and a Store that knows where servers of hubs could have written.
type ways struct {
	*Store
	t    *testing.T
	home string
}

func newWays(t *testing.T) *ways {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	do(t, err)
	return &ways{NewFor(t.TempDir(), home), t, home}
}

func (w *ways) path(name string) string { return filepath.Join(w.home, filepath.FromSlash(name)) }

// link makes a link, with the folders around it and the folder that it leads to.
func (w *ways) link(name, to string) {
	w.t.Helper()
	do(w.t, os.MkdirAll(w.path(to), 0o700), os.MkdirAll(filepath.Dir(w.path(name)), 0o700))
	_ = os.Remove(w.path(name))
	do(w.t, os.Symlink(w.path(to), w.path(name)))
}

// gives has the servers of a hub write in folders.
func (w *ways) gives(names ...string) *Reach {
	w.t.Helper()
	r := w.Reach()
	for _, name := range names {
		do(w.t, r.Add(w.path(name)))
	}
	return r
}

func (w *ways) why(name string, operator bool) string {
	w.t.Helper()
	disk := guard.NewDisk(guard.OS{})
	c, err := disk.Canonical(w.path(name))
	do(w.t, err)
	return w.WhyClosed(c, operator)
}

func (w *ways) expect(name string, open bool) {
	w.t.Helper()
	if why := w.why(name, false); (why == "") != open {
		w.t.Errorf("%s is open: %t, %q", name, why == "", why)
	}
}

// A link counts if no server could have made it, and for as long as it leads to the same.
func TestALinkOfAPersonCounts(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	w.link("ws/proj", "data/proj")
	w.expect("ws/proj", true)
	r := w.gives("ws")
	defer r.Close()
	w.expect("ws/proj", true) // it led there before
	w.link("ws/proj", "private")
	w.expect("ws/proj", false)
	w.link("ws/proj", "data/proj")
	w.expect("ws/proj", true)
}

// A link that a server could have made counts only inside what this server could write, until a person accepts it.
func TestALinkOfAServerWaits(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	r := w.gives("ws", "ws/deep", "ws/itself")
	r.Close() // it has ended, and what it wrote is there
	w.link("ws/inside", "ws/other")
	w.link("ws/deep/up", "ws/other")
	w.link("ws/out", "private")
	w.link("ws/chain/a", "ws/chain/b")
	w.link("ws/chain/b", "private")
	w.link("ws/itself", "data")
	w.link("mine", "ws/out") // of a person, to the link of the server
	w.expect("ws/inside", true)
	w.expect("mine", false)
	for _, name := range []string{"ws/deep/up", "ws/out", "ws/chain/a", "ws/itself"} {
		w.expect(name, false)
	}
	all, err := w.Questions()
	do(t, err)
	if len(all) != 4 {
		t.Fatalf("%d questions", len(all))
	}
	for _, q := range all {
		if q.ID != "way "+w.path("ws/out") {
			continue
		}
		if !strings.Contains(q.Title, w.path("private")) || !strings.HasSuffix(q.Lines[1], " "+w.path("ws")) {
			t.Errorf("%q %q", q.Title, q.Lines)
		}
		do(t, w.Accept(q.ID, q.Digest))
	}
	w.expect("ws/out", true)
	w.link("ws/out", "private/more")
	w.expect("ws/out", false)
}

// What a link led to when the root was looked up is judged, and not what it leads to by now.
func TestALinkThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	r := w.gives("ws")
	defer r.Close()
	w.link("ws/proj", "private")
	disk := guard.NewDisk(guard.OS{})
	c, err := disk.Canonical(w.path("ws/proj"))
	do(t, err)
	w.link("ws/proj", "ws/other")
	if w.WhyClosed(c, false) == "" {
		t.Errorf("%s is a root", c.Path)
	}
}

// A link of a person whose text climbs by .. out of the link of a server leads to what the server wants.
func TestALinkThatClimbs(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	r := w.gives("ws")
	defer r.Close()
	w.link("ws/b", "ws")
	w.link("mine", "private")
	do(t, os.Remove(w.path("mine")), os.Symlink("ws/b/../private", w.path("mine")))
	w.expect("mine", false)
	do(t, os.Remove(w.path("mine")), os.Symlink("ws/b/../ws", w.path("mine")))
	w.expect("mine", true)
}

// The directory of a rule opens nothing by a link of a server, also if it is not there yet.
func TestADirectoryOfARuleThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	r := w.gives("ws")
	defer r.Close()
	w.link("ws/proj", "private")
	w.link("ws/mine", "ws/other")
	_, areas, errs := guard.NewAreas(guard.OS{Provenance: w.Store}, []string{w.path("ws/proj"), w.path("ws/proj/docs"), w.path("ws/mine/docs"), w.path("ws/docs")})
	do(t, errs...)
	for i, open := range []bool{false, false, true, true} {
		if (areas[i].Closed == "") != open {
			t.Errorf("%+v", areas[i])
		}
	}
}

// A name that leads through a link to where servers write is known as one that they can write, and so is a file that leads there.
func TestWhatIsWrittenBehindALink(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	r := w.gives("dev", "other/project")
	defer r.Close()
	w.link("short", "dev")
	w.link("dev/srv/node_modules/x", "private")
	w.link("dev/srv/node_modules/y", "dev/y")
	w.link("dev/srv/node_modules/z", "other/project")
	do(t, os.WriteFile(w.path("dev/pyvenv.cfg"), nil, 0o600), os.MkdirAll(w.path("venv"), 0o700), os.Symlink(w.path("dev/pyvenv.cfg"), w.path("venv/pyvenv.cfg")))
	for by, tos := range map[string]map[string]bool{
		"short/srv/node_modules/x": {"private": false},
		"short/srv/node_modules/y": {"dev/y": true},
		"dev/srv/node_modules/z":   {"other/project": false},
		"venv/pyvenv.cfg":          {"private": false, "dev": true},
	} {
		for to, open := range tos {
			if why, _ := w.WhyNotLed(Lead{Name: "module " + by, By: []string{w.path(by)}, To: []string{w.path(to)}, Dry: true}); (why == "") != open {
				t.Errorf("%s to %s: %q", by, to, why)
			}
		}
	}
}

// A folder of keys is a root only if hub.json names it, and no link leads to keys, no matter who made it.
func TestKeysAreNoRoots(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	do(t, os.MkdirAll(w.path(".ssh/keys"), 0o700))
	w.link("proj", ".ssh")
	w.link("all", ".")
	w.link("deep", ".ssh/keys")
	for _, name := range []string{".ssh", ".ssh/keys", "proj", "all", "deep"} {
		w.expect(name, false)
	}
	for name, open := range map[string]bool{".ssh": true, ".ssh/keys": true, "proj": false, "all": false, "deep": false} {
		if why := w.why(name, true); (why == "") != open {
			t.Errorf("%s in hub.json is open: %t, %q", name, why == "", why)
		}
	}
	w.expect(".", true)
	if q, err := w.Questions(); len(q) > 0 || err != nil {
		t.Errorf("somebody is asked: %v %v", q, err)
	}
}

// What cannot be read counts as written by a server.
func TestARecordThatIsDamagedClosesLinks(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	w.link("ws/proj", "data/proj")
	r := w.gives("elsewhere")
	defer r.Close()
	do(t, os.WriteFile(r.file.Name(), []byte(`{"dir":"/els`), 0o600))
	w.expect("ws/proj", false)
	w.expect("data/proj", true)
	if (*Store)(nil).Keeps() {
		t.Error("no Store keeps something")
	}
}

// A server that makes any number of links does not fill the disk with questions.
func TestFewQuestionsWait(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	r := w.gives("ws")
	defer r.Close()
	for i := range 2 * maxWaiting {
		name := "ws/" + strconv.Itoa(i)
		w.link(name, "private")
		w.expect(name, false)
	}
	if q, err := w.Questions(); len(q) != maxWaiting || err != nil {
		t.Errorf("%d questions, %v", len(q), err)
	}
}

// Questions about links that are gone do not keep others from being asked.
func TestQuestionsAboutWhatIsGone(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	r := w.gives("ws")
	defer r.Close()
	for i := range maxWaiting {
		name := "ws/" + strconv.Itoa(i)
		w.link(name, "private")
		w.expect(name, false)
		if i > 0 {
			do(t, os.Remove(w.path(name)))
		}
	}
	w.link("ws/late", "private")
	w.expect("ws/late", false)
	all, err := w.Questions()
	do(t, err)
	if len(all) != 2 || all[0].ID != "way "+w.path("ws/0") || all[1].ID != "way "+w.path("ws/late") {
		t.Errorf("%d questions", len(all))
	}
}

// What is kept of links grows with the links of a person: a server that makes some adds nothing.
func TestLinksOfAServerAreNotKept(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	r := w.gives("ws")
	defer r.Close()
	for i := range 4 {
		name := "ws/" + strconv.Itoa(i)
		w.link(name, "ws/dir")
		w.expect(name, true)
	}
	w.link("mine", "ws/dir")
	w.expect("mine", true)
	if all, err := w.all(accepted); len(all) != 1 || err != nil {
		t.Errorf("%d are kept, %v", len(all), err)
	}
}

// The records of many hubs become few, also if a link was accepted between them.
func TestLinksKeepNoRecordsApart(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	for i := range 3 * maxLeft {
		name := "dir" + strconv.Itoa(i)
		w.gives(name).Close()
		w.link("links/"+name, "data")
		w.expect("links/"+name, true)
	}
	all, err := w.reachRecords()
	do(t, err)
	if len(all) > maxLeft+1 {
		t.Errorf("%d records", len(all))
	}
	w.link("dir0/x", "private")
	w.expect("dir0/x", false)
}

// A server chooses the names in a question, and adds no line to it.
func TestAQuestionIsItsOwnLines(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	r := w.gives("ws")
	defer r.Close()
	name := "ws/b\nServers could write in: nothing\u202e"
	w.link(name, "private")
	why, _ := w.WhyNotLed(Lead{Name: w.path(name), By: []string{w.path(name)}, To: []string{w.path("private"), w.path(name)}})
	all, err := w.Questions()
	do(t, err)
	if len(all) != 1 || why == "" {
		t.Fatalf("%d questions, %q", len(all), why)
	}
	for _, text := range append(all[0].Lines, all[0].Title, why) {
		if strings.ContainsAny(text, "\n\u202e") {
			t.Errorf("%q", text)
		}
	}
}
