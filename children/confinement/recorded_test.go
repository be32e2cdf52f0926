package confinement_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children/sandbox"
)

// TestRecordedPaths: what a person has confirmed is opened, and nothing else, whatever has come to its place.
func TestRecordedPaths(t *testing.T) {
	for name, tc := range map[string]struct {
		path   string
		use    sandbox.RecordedUse
		change func(t *testing.T, home string)
		probe  string
		want   string
	}{
		"a folder to read":           {"vault", sandbox.Reads, nil, "vault/a", "rx"},
		"a file to write":            {"shop.db", sandbox.Writes, nil, "shop.db", "rxw"},
		"a file that is missing":     {"fresh.db", sandbox.Writes, nil, "fresh.db", "rw"},
		"and nothing beside it":      {"shop.db", sandbox.Writes, nil, "other", ""},
		"a folder of state":          {".tool", sandbox.Keeps, nil, ".tool", "rxw"},
		"one with a dot in its name": {".tool.d", sandbox.Keeps, nil, ".tool.d/x", "rxw"},
		"one that was there":         {"vault", sandbox.Keeps, nil, "vault/a", "rxw"},
		"one that git obeys":         {"vault/.git", sandbox.Keeps, nil, "vault/.git/config", "rx"},
		"no key":                     {".netrc", sandbox.Reads, nil, ".netrc", ""},
		"no folder of keys":          {".ssh", sandbox.Keeps, nil, ".ssh/id_rsa", ""},
		"not the home folder":        {".", sandbox.Reads, nil, "other", ""},
		"what shells load, to read":  {".bashrc", sandbox.Writes, nil, ".bashrc", "rx"},
		"an unknown use":             {"shop.db", "takes", nil, "shop.db", ""},
		"a link in its place":        {"vault", sandbox.Reads, func(t *testing.T, home string) { relink(t, home+"/private", home+"/vault") }, "private/x", ""},
		"a link to a key":            {"shop.db", sandbox.Writes, func(t *testing.T, home string) { relink(t, home+"/.netrc", home+"/shop.db") }, ".netrc", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, home := confinedMachine(t)
			h.Host = h.WithKernel(sandbox.Kernel{ABI: 7, Filters: true, Drops: true}) // it asks
			at := func(p string) string { return filepath.Join(home, p) }
			for _, file := range []string{"vault/a", "vault/.git/config", "shop.db", "other", "private/x", ".ssh/id_rsa", ".netrc", ".bashrc"} {
				putFile(t, at(file), "")
			}
			if tc.change != nil {
				if err := os.RemoveAll(at(tc.path)); err != nil {
					t.Fatal(err)
				}
				tc.change(t, home)
			}
			prog := served(home)
			if got := rights(planOf(t, h, prog), at(tc.probe)); got != "" {
				t.Fatalf("control: it is open to %q", got)
			}
			prog.Sandbox.Recorded = sandbox.Recorded{Paths: []sandbox.RecordedPath{{Path: at(tc.path), Use: tc.use}}}
			c := planOf(t, anew(h), prog)
			if got := rights(c, at(tc.probe)); got != tc.want {
				t.Errorf("it is open to %q, want %q: %v", got, tc.want, c.Report.Recorded)
			}
		})
	}
}

// TestTemporaryNames: with a file that is named and recorded, temporary names of its pattern may be used, and of no pattern that stands for any name.
func TestTemporaryNames(t *testing.T) {
	for pattern, want := range map[string]bool{"tmp????????": true, "": false, "*": false, "[a-z]*": false} {
		h, home := confinedMachine(t)
		h.Host = h.Forgetful().WithKernel(sandbox.Kernel{ABI: 7, Filters: true, Drops: true}) // it asks
		file := filepath.Join(home, "memory.json")
		putFile(t, file, "")
		if err := os.Chmod(file, 0o600); err != nil { // it is no program
			t.Fatal(err)
		}
		prog := served(home)
		prog.Sandbox.Recorded = sandbox.Recorded{Paths: []sandbox.RecordedPath{{Path: file, Use: sandbox.Writes, Beside: true, Temporary: pattern}}}
		for _, named := range []bool{false, true} {
			if named {
				prog.Args = append(prog.Args, "--db", file)
			}
			files := planOf(t, h, prog).Profile.Files
			if len(files) != 1 || files[0].Path() != file {
				t.Fatalf("%q: %+v", pattern, files)
			}
			if got := files[0].Beside("tmpabcdefgh"); got != want {
				t.Errorf("%q, the entry names the file: %t; a temporary name: %t", pattern, named, got)
			}
			prog.Sandbox.Recorded.Paths[0].Use = sandbox.Reads // what is only read has no names beside it
			if files := planOf(t, anew(h), prog).Profile.Files; len(files) > 0 && !named {
				t.Errorf("%q, to read: %+v", pattern, files)
			}
			prog.Sandbox.Recorded.Paths[0].Use, prog.Sandbox.Recorded.Paths[0].Beside = sandbox.Writes, false
			if files := planOf(t, anew(h), prog).Profile.Files; len(files) > 0 && !named {
				t.Errorf("%q, with nothing beside it: %+v", pattern, files)
			}
			prog.Sandbox.Recorded.Paths[0].Beside = true
			if files[0].Beside("other") || !files[0].Beside("memory.json.tmp") {
				t.Errorf("%q: other names have changed", pattern)
			}
		}
	}
}

// TestChangedEntry: a profile holds after its entry has changed, and a person is asked.
func TestChangedEntry(t *testing.T) {
	h, home := confinedMachine(t)
	vault := filepath.Join(home, "vault")
	putFile(t, vault+"/a", "")
	prog := served(home)
	prog.Sandbox.Owner = "profile notes\x00" + home + "/hub.json"
	prog.Sandbox.Recorded = sandbox.Recorded{Of: planOf(t, h, prog).Report.Of, Paths: []sandbox.RecordedPath{{Path: vault, Use: sandbox.Reads}}}
	for _, changed := range []bool{false, true} {
		if changed {
			prog.Args = append(prog.Args, "--more")
		}
		c := planOf(t, anew(h), prog)
		if got := rights(c, vault+"/a"); got != "rx" {
			t.Errorf("changed: %t; it is open to %q", changed, got)
		}
		waiting, err := h.Store().Questions()
		if err != nil || (len(waiting) == 1) != changed {
			t.Fatalf("changed: %t; %v waits: %v", changed, waiting, err)
		}
		if told := strings.Contains(strings.Join(c.Report.Closed, " "), "has changed since your user confirmed"); told != changed {
			t.Errorf("changed: %t; it is told: %q", changed, c.Report.Closed)
		}
		if !changed {
			continue
		}
		if err := h.Store().Accept(waiting[0].ID, waiting[0].Digest); err != nil {
			t.Fatal(err)
		}
		planOf(t, anew(h), prog)
		if waiting, err := h.Store().Questions(); err != nil || len(waiting) > 0 {
			t.Errorf("after the answer %v waits: %v", waiting, err)
		}
		if now, err := h.Store().Recorded(prog.Sandbox.Owner); err != nil || now.Of != c.Report.Of {
			t.Errorf("it holds for %q, want %q: %v", now.Of, c.Report.Of, err)
		}
	}
}
