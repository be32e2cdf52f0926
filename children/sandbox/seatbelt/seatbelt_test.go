package seatbelt_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcphub/children/sandbox/seatbelt"
	"mcphub/e2e/seatbelttest"
)

var update = flag.Bool("update", false, "write testdata")

// Short forms for tables.
type (
	area    = seatbelt.Area
	name    = seatbelt.Name
	closing = seatbelt.Name // where name is taken
	policy  = seatbelt.Policy
)

func all(path string) area {
	return area{Path: path, Dir: true, Read: true, Execute: true, Write: true}
}
func read(path string) area { return area{Path: path, Dir: true, Read: true} }
func runs(path string) area { return area{Path: path, Dir: true, Read: true, Execute: true} }
func file(path string) area { return area{Path: path, Read: true} }
func data(path string) area { return area{Path: path, Read: true, Write: true} }

// policies are cases of the golden files, by their names.
var policies = map[string]policy{
	"zero":      {},
	"project":   {Areas: []area{runs("/usr"), runs("/bin"), file("/private/etc/hosts"), all("/Users/me/project")}, Network: true},
	"file":      {Areas: []area{data("/Users/me/notes.db"), file("/Users/me/.gitconfig")}},
	"withheld":  {Areas: []area{all("/Users/me")}, Closed: []name{{Path: "/Users/me/.local/state/mcphub"}, {Path: "/Users/me/p/hub.json"}}},
	"missing":   {Areas: []area{all("/Users/me/p")}, Closed: []name{{Path: "/Users/me/p", Missing: "conf/hub.json"}, {Path: "/Users/me/p", Missing: "größe/ﬁ/Kiss"}}},
	"disk":      {Areas: []area{all("/")}, Closed: []name{{Path: "/Users/me/.ssh"}, {Path: "/private/var/db/x"}, {Path: "/", Missing: "new"}}},
	"in closed": {Areas: []area{all("/Users/me/state/root"), read("/Users/me/state"), read("/Users/me/other")}, Closed: []name{{Path: "/Users/me/state"}}},
	"spellings": {Areas: []area{all("/tmp/x"), read("/var/folders/ab"), read("/System/Volumes/Data/Users/me"), read("/System"), file("/etc/hosts"), runs("/opt/homebrew")}, Closed: []name{{Path: "/tmp/x/secret"}}},
	"odd names": {Areas: []area{all(`/Users/me/a "quoted" name`), all(`/Users/me/back\slash`), all("/Users/me/paren)s (allow default)"), all("/Users/me/two\nlines\t;"), all("/Users/me/#\"raw"), all("/Users/me/größe")},
		Closed: []name{{Path: `/Users/me/back\slash`, Missing: `a"b\c.d`}}},
	"ports":     {Ports: []uint16{443, 8080}},
	"sockets":   {Sockets: []string{"/tmp/agent.sock"}},
	"unbounded": {Unbounded: true, AllSockets: true, Network: true},
	"terminals": {Areas: []area{{Path: "/dev/null", Read: true, Write: true, Control: true}}, Terminals: true},
}

// TestProfiles: each profile is as it was looked at, and the model reads it.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for name, p := range policies {
		text, err := p.Text()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := seatbelttest.Parse(text); err != nil {
			t.Errorf("%s cannot be read: %v", name, err)
		}
		golden(t, strings.ReplaceAll(name, " ", "-")+".sb", text)
	}
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	at := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", name, diff)
	}
}

// TestNothingThatCannotBeWritten: a path that the language cannot hold makes no profile, and one that it just holds does.
func TestNothingThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return "/" + strings.Repeat("x", n-1) }
	for name, p := range map[string]policy{
		"long":                  {Areas: []area{all(long(1024))}},
		"long to close":         {Areas: []area{all("/")}, Closed: []closing{{Path: long(1024)}}},
		"long by quotes":        {Areas: []area{all("/" + strings.Repeat(`"`, 600))}},
		"long as an expression": {Areas: []area{all("/a")}, Closed: []closing{{Path: "/a", Missing: strings.Repeat("b", 300)}}},
		"long when spelled out": {Areas: []area{all("/Users/" + strings.Repeat("x", 1010))}},
		"NUL":                   {Areas: []area{all("/a\x00b")}},
		"not UTF-8":             {Areas: []area{all("/a\xff")}},
		"relative":              {Areas: []area{all("a")}},
		"not clean":             {Areas: []area{all("/a/../b")}},
		"long socket":           {Sockets: []string{long(1024)}},
	} {
		if text, err := p.Text(); err == nil || text != "" {
			t.Errorf("%s: made a profile (%v)", name, err)
		}
	}
	for name, p := range map[string]policy{
		"long":                  {Areas: []area{all(long(1023))}},
		"long as an expression": {Areas: []area{all("/a")}, Closed: []closing{{Path: "/a", Missing: strings.Repeat("b", 250)}}},
	} {
		if _, err := p.Text(); err != nil {
			t.Errorf("control: %s: %v", name, err)
		}
	}
}

// TestDisk: a path is found as the disk spells it, and what is not there is told apart.
func TestDisk(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "Sub", "file")
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var d seatbelt.Disk
	for path, want := range map[string]struct {
		name
		dir bool
	}{
		"/":                              {name{Path: "/"}, true},
		dir:                              {name{Path: dir}, true},
		at:                               {name{Path: at}, false},
		filepath.Join(dir, "no", "such"): {name{Path: dir, Missing: "no/such"}, false},
		filepath.Join(at, "below"):       {name{Path: at, Missing: "below"}, false},
	} {
		if got, isDir := d.Find(path); got != want.name || isDir != want.dir {
			t.Errorf("%s: %+v %t", path, got, isDir)
		}
	}
}
