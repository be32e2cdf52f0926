package seatbelt_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mcphub/children/sandbox/proof"
	"mcphub/e2e/seatbelttest"
)

// A played case is a profile, and calls that it lets pass or not. In both {dir} is a folder with the tree of playedFiles, and {pid} another process.
type played struct {
	Name    string
	Profile string
	Calls   []struct {
		proof.Call
		Allowed bool
	}
}

// playedFiles are the files of the tree. Beside them are the links in/link to ../out and in/secret to ../out/secret, and the socket out/sock.
var playedFiles = []string{"in/a", "in/b", "in/sub/c", "in/sub too", "in/kept/x", "in/odd \"(name)\" \\", "in/two\nlines", "in/größe", "in/gore", "out/secret", "out/program"}

// cases returns the cases of the file, for a folder and a process.
func cases(t *testing.T, dir, pid string) (all []played) {
	t.Helper()
	text, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.NewReplacer("{dir}", dir, "{pid}", pid).Replace(string(text))), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCasesInTheModel: the model says about each case what the file says, which is what a Mac compares. The control is the model without the rules
// of the case. Some cases tell the two orders of rules apart.
func TestCasesInTheModel(t *testing.T) {
	t.Parallel()
	const dir = "/private/tmp/cases"
	d := seatbelttest.NewDisk()
	for _, file := range playedFiles {
		d.Add("REGULAR-FILE", dir+"/"+file)
	}
	d.Add("SOCKET", dir+"/out/sock")
	d.Link(dir+"/in/link", "../out")
	d.Link(dir+"/in/secret", "../out/secret")
	calls, differ := 0, 0
	for _, c := range cases(t, dir, "1") {
		p, err := seatbelttest.Parse(c.Profile)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for _, one := range c.Calls {
			calls++
			m := seatbelttest.Machine{Disk: d, Profile: p}
			got := m.Allows(seatbelttest.Call(one.Call))
			if got != one.Allowed {
				t.Errorf("%s: %q: %t", c.Name, one.Call, got)
			}
			if m.Order = seatbelttest.LastWins; m.Allows(seatbelttest.Call(one.Call)) != got {
				differ++
			}
			if m.Profile = free(t); !m.Allows(seatbelttest.Call(one.Call)) {
				t.Errorf("control: %s: %q does not pass without a profile", c.Name, one.Call)
			}
		}
	}
	if calls < 60 || differ < 3 {
		t.Errorf("%d calls, of which %d tell the orders apart", calls, differ)
	}
}
