package confinement_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// silentKernel returns this one, if it did not ask the hub about system calls.
func silentKernel() sandbox.Kernel {
	k := sandbox.CurrentKernel()
	k.WhyNoNotify = "it does not ask"
	return k
}

// TestFilesInClosedFolders: a file in a closed folder opens with what programs make beside it, and with no
// rule. A kernel that does not ask opens the file alone, or not at all.
func TestFilesInClosedFolders(t *testing.T) {
	h, home := confinedMachine(t)
	asks := sandbox.Kernel{ABI: 7, Filters: true, Drops: true}
	at := func(p string) string { return filepath.Join(home, p) }
	for _, file := range []string{"shop.db", "many/other", "many/x.db", "own/x.db", ".ssh/x.db", "tool"} {
		putFile(t, at(file), "")
		if err := os.Chmod(at(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(at("tool"), 0o700); err != nil {
		t.Fatal(err)
	}
	relink(t, at("shop.db"), at("many/link.db"))
	relink(t, at("many"), at("lots"))
	writes := func(path string) program.Program {
		p := served(home)
		p.Sandbox.Write = []string{path}
		return p
	}
	for name, tc := range map[string]struct {
		prog   program.Program
		file   string // that is brokered, below home; "": none
		silent string // what is open there to write, if the kernel does not ask; "": nothing
	}{
		"in the home folder": {served(home, "--db", at("shop.db")), "shop.db", "shop.db"},
		"that is not there":  {served(home, "--db="+at("new.db")), "new.db", ""},
		"of a variable": {func() program.Program {
			p := served(home)
			p.Env = map[string]string{"MEMORY_FILE_PATH": at("mem.json")}
			return p
		}(), "mem.json", ""},
		"among others":                 {served(home, "--db", at("many/x.db")), "many/x.db", "many/x.db"},
		"by a link to its folder":      {served(home, "--db", at("lots/x.db")), "many/x.db", "many/x.db"},
		"by a link to it":              {served(home, "--db", at("many/link.db")), "shop.db", "shop.db"},
		"of sandbox.write":             {writes(at("shop.db")), "shop.db", "shop.db"},
		"of sandbox.write, not there":  {writes(at("new.db")), "new.db", ""},
		"in a folder of its own":       {served(home, "--db", at("own/x.db")), "", "own/x.db"},
		"in an open folder":            {func() program.Program { p := writes(at("many")); p.Args = append(p.Args, at("many/x.db")); return p }(), "", "many/x.db"},
		"among keys":                   {served(home, "--db", at(".ssh/x.db")), "", ""},
		"that is configuration":        {served(home, "--config", at("shop.db")), "", ""},
		"that shells load":             {served(home, at(".bashrc.d.sh"), at(".bashrc")), ".bashrc.d.sh", ""},
		"that is a program":            {served(home, at("tool")), "", "tool"},
		"whose folder is not there":    {served(home, "--db", at("made/x.db")), "", "made"},
		"that may become a folder":     {served(home, "--data", at("new")), "", "new"},
		"that the system has":          {served(home, "--db", "/etc/new.db"), "", ""},
		"that is withheld (hub's own)": {served(home, "--db", at(".local/state/mcphub/x.db")), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kernel := range []sandbox.Kernel{asks, silentKernel()} {
				h := h
				h.Host = h.Forgetful().WithKernel(kernel)
				c := planOf(t, h, tc.prog)
				if !kernel.Asks() {
					if len(c.Profile.Files) != 0 || tc.silent != "" && c.Profile.AccessAt(at(tc.silent))&sandbox.Write == 0 {
						t.Errorf("a kernel that does not ask: %+v, %v", c.Profile.Files, c.Profile.Rules)
					}
					continue
				}
				if tc.file == "" {
					if len(c.Profile.Files) != 0 || tc.silent != "" && c.Profile.AccessAt(at(tc.silent))&sandbox.Write == 0 {
						t.Errorf("%+v, %v", c.Profile.Files, c.Profile.Rules)
					}
					continue
				}
				if len(c.Profile.Files) != 1 || c.Profile.Files[0].Path() != at(tc.file) {
					t.Fatalf("%+v", c.Profile.Files)
				}
				for _, path := range []string{tc.file, tc.file + "-journal", tc.file + ".tmp"} {
					if got := rights(c, at(path)); got != "rw" {
						t.Errorf("%s is open to %q", path, got)
					}
				}
				for _, r := range c.Profile.Rules {
					if sandbox.Contains(r.Path, at(tc.file)) || sandbox.Contains(at(tc.file), r.Path) {
						t.Errorf("there is a rule on %s", r.Path)
					}
				}
				for _, n := range c.Report.Named {
					if strings.HasSuffix(n.Path, filepath.Base(tc.file)) && (n.Access&sandbox.Write == 0 || n.Why != "") {
						t.Errorf("of the name it is said %+v", n)
					}
				}
				// The next plan is the same, whatever has the name by then.
				if err := os.WriteFile(at(tc.file)+".t", nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if again := planOf(t, h, tc.prog); !again.Same(c) {
					t.Errorf("the next plan is another: %+v", again.Profile.Files)
				}
			}
		})
	}
}

// What the hub is told of a file: the links that lead to it, the names beside it that the policy withholds, and where it is kept what was made.
func TestWhatTheHubKnowsOfAFile(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	for _, file := range []string{"many/shop.db", "many/keep.db", "other/keep.db"} {
		putFile(t, at(file), "")
		if err := os.Chmod(at(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	relink(t, at("many/shop.db"), at("other/link.db"))
	relink(t, at("other/link.db"), at("shop.db"))
	h.Host = h.WithKernel(sandbox.Kernel{ABI: 7, Filters: true, Drops: true}).ForRoots(nil, at("many/keep.db"), at("other/keep.db"))
	c := planOf(t, h, served(home, "--db", at("shop.db")))
	if len(c.Profile.Files) != 1 {
		t.Fatalf("%+v", c.Profile.Files)
	}
	f := c.Profile.Files[0]
	if f.Path() != at("many/shop.db") || !slices.Equal(f.Links, []string{"link.db"}) || !slices.Equal(f.Never, []string{"keep.db"}) || f.Made == nil || f.Made.File == nil {
		t.Errorf("%+v", f)
	}
	h.Host = h.Forgetful()
	if c = planOf(t, h, served(home, "--db", at("shop.db"))); len(c.Profile.Files) != 1 || c.Profile.Files[0].Made == nil {
		t.Errorf("without a memory: %+v", c.Profile.Files)
	}
	if c = planOf(t, h, served(home, "--db", at("many/keep.db"))); len(c.Profile.Files) != 0 {
		t.Errorf("what is withheld is opened: %+v", c.Profile.Files)
	}
}
