package sandbox

import (
	"strings"
	"testing"

	"mcphub/children/sandbox/seatbelt"
	"mcphub/e2e/seatbelttest"
)

// TestProfileInSeatbelt: what a Profile opens, its text for macOS opens, and none of what is withheld or not there.
func TestProfileInSeatbelt(t *testing.T) {
	t.Parallel()
	d := seatbelttest.NewDisk()
	d.Add("REGULAR-FILE", "/Users/me/p/file", "/Users/me/p/kept/x", "/Users/me/p/kept/own", "/Users/me/p/state/x", "/Users/me/p/state/own", "/Users/me/note", "/Users/me/tool/run", "/Users/me/.ssh/id")
	d.Add("CHARACTER-DEVICE", "/dev/null", Terminals.Path, "/dev/ttys004")
	find := func(path string) (seatbelt.Name, bool) {
		switch path {
		case "/Users/me/gone":
			return seatbelt.Name{Path: "/Users/me", Missing: "gone"}, false
		case "/Users/me/p/later":
			return seatbelt.Name{Path: "/Users/me/p", Missing: "later"}, false
		}
		return seatbelt.Name{Path: path}, d.Kind(path) == "DIRECTORY"
	}
	p := &Profile{
		Rules:    []Rule{{"/Users/me/gone", Read | Write}, {"/Users/me/note", Read | Write}, {"/Users/me/p", Read | Write | Execute}, {"/Users/me/p/kept/own", Read}, {"/Users/me/p/state/own", Read}, {"/Users/me/tool", Read | Execute}, {"/dev/null", Read | Write | Device}, Terminals},
		Withheld: []string{"/Users/me/p/kept", "/Users/me/p/later"}, Except: "/Users/me/p/state", Network: Network{Ports: []uint16{443}},
	}
	text, err := p.seatbeltText(find)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := seatbelttest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m := seatbelttest.Machine{Disk: d, Profile: profile}
	for _, tc := range []struct {
		do, path string
		want     bool
	}{
		{"read", "/Users/me/p/file", true}, {"write", "/Users/me/p/file", true}, {"run", "/Users/me/p/file", true}, {"create", "/Users/me/p/new", true},
		{"read", "/Users/me/note", true}, {"write", "/Users/me/note", true}, {"remove", "/Users/me/note", false}, {"run", "/Users/me/note", false},
		{"run", "/Users/me/tool/run", true}, {"write", "/Users/me/tool/run", false}, {"ioctl", "/dev/null", true}, {"write", "/dev/ttys004", true}, {"connect", "443", true}, {"connect", "80", false},
		{"list", "/Users/me/p/kept", false}, {"read", "/Users/me/p/kept/x", false}, {"read", "/Users/me/p/kept/own", true}, {"write", "/Users/me/p/kept/own", false}, {"read", "/Users/me/p/state/own", false}, {"create", "/Users/me/p/Later", false}, {"read", "/Users/me/p/state/x", false}, {"read", "/Users/me/.ssh/id", false}, {"create", "/Users/me/gone", false}, {"list", "/Users/me", false},
	} {
		if got := m.Allows(seatbelttest.Call{Do: tc.do, Path: tc.path}); got != tc.want {
			t.Errorf("%s %s: %t", tc.do, tc.path, got)
		}
		if a := p.AccessAt(tc.path); tc.do == "read" && (a&Read != 0) != tc.want {
			t.Errorf("%s: the Profile says %s", tc.path, a)
		}
	}
	if text, err := (&Profile{Rules: []Rule{{"/" + strings.Repeat("x", 1024), Read}}}).seatbeltText(find); err == nil {
		t.Errorf("a path that cannot be written made %q", text)
	}
	wider := &Profile{Rules: []Rule{{"/Users/me/p", Read}}}
	if p = (&Profile{Rules: wider.Rules, Withheld: []string{"/Users/me/p/kept"}}); p.Covers(wider) || !wider.Covers(p) || p.Equal(wider) {
		t.Error("a Profile that withholds less is not wider")
	}
}

// TestBaseOfMac: no path of the base holds what users have, in any spelling, nor folders of all programs.
func TestBaseOfMac(t *testing.T) {
	t.Parallel()
	kept := []string{"/Users/me/.ssh", "/System/Volumes/Data/Users/me/.ssh", "/Library/Keychains/System.keychain", "/private/var/db/SystemKey", "/private/etc/master.passwd", "/private/etc/sudoers", "/private/var/folders/a", "/private/tmp/a", "/dev/disk0", "/dev/ttys001"}
	for _, need := range BaseOf("darwin") {
		for _, path := range need.PathsIn("/Users/me") {
			for _, k := range kept {
				if Contains(path, k) {
					t.Errorf("%s holds %s", path, k)
				}
			}
		}
	}
}
