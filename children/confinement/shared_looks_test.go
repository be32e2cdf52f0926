package confinement_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/children/confinement"
	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// Plans of servers that start together share what one of them has seen. What a server has written leads nowhere that is closed to the first plan,
// even if the server changes it before the second plan looks: neither in the second plan, nor in the plan of a later start.
func TestWhatAServerTakesAwayBetweenTwoPlans(t *testing.T) {
	node := func(home string) program.Program {
		return confinedProgram("node", filepath.Join(home, "tools/app/index.js"))
	}
	module := map[string]string{"src/app/package.json": "{}", "src/app/index.js": "", "other/app/node_modules/bar/index.js": ""}
	moduleLinks := map[string]string{"src/app/node_modules/foo": "private", "tools/app": "src/app"}
	for name, c := range map[string]struct {
		files, links map[string]string // by path in the home folder
		writes       string            // the folder in which the server writes
		program      func(home string) program.Program
		path         string // a folder of PATH
		away, to     string // what the server renames, and what lies in its place then; "": nothing
	}{
		"a module":                {module, moduleLinks, "src/app", node, "", "src/app/node_modules", ""},
		"a module's installation": {module, moduleLinks, "src", node, "", "src/app", "other/app"},
		"a virtual environment": {
			map[string]string{"src/venv/pyvenv.cfg": "home = /usr/bin\n", "src/venv/bin/run": "", "src/venv/lib/python3/site-packages/a.pth": "{home}/private\n"},
			map[string]string{"tools/venv": "src/venv"}, "src",
			func(home string) program.Program { return confinedProgram(filepath.Join(home, "tools/venv/bin/run")) }, "", "src/venv/lib", "",
		},
		"a folder of PATH": {nil, map[string]string{"proj/bin": "private"}, "proj", nil, "proj/bin", "proj/bin", ""},
		"what git includes": {
			map[string]string{"dotfiles/gitconfig": "[include]\n\tpath = {home}/private/x\n"}, map[string]string{".gitconfig": "dotfiles/gitconfig"},
			"dotfiles", nil, "", "dotfiles/gitconfig", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, home := confinedMachine(t)
			at := func(p string) string { return filepath.Join(home, p) }
			putFile(t, at("private/x"), "[secret]\n\tanswer = 42\n")
			for path, text := range c.files {
				putFile(t, at(path), strings.ReplaceAll(text, "{home}", home))
			}
			for path, to := range c.links {
				relink(t, at(to), at(path))
			}
			if err := h.Store().Reach().Add(at(c.writes)); err != nil {
				t.Fatal(err)
			}
			prog := confinedProgram("sh")
			if c.program != nil {
				prog = c.program(home)
			}
			if c.path != "" {
				h.Host = h.WithEnviron("HOME="+home, "PATH="+at(c.path)+":/usr/bin:/bin", "XDG_STATE_HOME="+at(".local/state"))
			}
			reads := func(h launch.Machine) bool {
				plan := planWithTemp(t, h, prog).Sandbox
				copied := slices.ContainsFunc(plan.Private, func(f confinement.PrivateFile) bool { return strings.Contains(string(f.Text), "42") })
				return copied || opens(plan, at("private/x"))
			}
			burst := h.WithLooks(sandbox.NewLstatCache())
			if reads(burst) {
				t.Fatal("the first plan is given it")
			}
			move := func(from, to string) {
				if err := os.Rename(at(from), at(to)); err != nil {
					t.Fatal(err)
				}
			}
			move(c.away, "away")
			if c.to != "" {
				relink(t, at(c.to), at(c.away))
			}
			if reads(burst) {
				t.Error("the second plan is given it")
			}
			if c.to != "" {
				if err := os.Remove(at(c.away)); err != nil {
					t.Fatal(err)
				}
			}
			move("away", c.away)
			if reads(anew(h)) {
				t.Error("a later start is given it")
			}
		})
	}
}

// A link that a server has made to what is not there yet opens nothing when something is there. Control: the user's own link does.
func TestALinkOfAServerToWhatIsMissing(t *testing.T) {
	for _, writes := range []bool{true, false} {
		h, home := confinedMachine(t)
		at := func(p string) string { return filepath.Join(home, p) }
		relink(t, at("private"), at("proj/bin"))
		if writes {
			if err := h.Store().Reach().Add(at("proj")); err != nil {
				t.Fatal(err)
			}
		}
		h.Host = h.WithEnviron("HOME="+home, "PATH="+at("proj/bin")+":/usr/bin:/bin", "XDG_STATE_HOME="+at(".local/state"))
		planOf(t, h, confinedProgram("sh"))
		putFile(t, at("private/x"), "")
		if open := opens(planOf(t, anew(h), confinedProgram("sh")), at("private/x")); open == writes {
			t.Errorf("a server writes the link: %t, it is open: %t", writes, open)
		}
	}
}

// A file of git's settings that is replaced between two plans is judged again: it may hold a credential by now.
func TestSettingsReplacedBetweenTwoPlans(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	putFile(t, at(".gitconfig"), "[user]\n\tname = A\n")
	h = h.WithLooks(sandbox.NewLstatCache())
	if c := planWithTemp(t, h, confinedProgram("sh")).Sandbox; !opens(c, at(".gitconfig")) {
		t.Fatal("control: it is closed to the first plan")
	}
	putFile(t, at("new"), "[http \"https://x.org\"]\n\textraHeader = Authorization: Bearer "+gitToken+"\n")
	if err := os.Rename(at("new"), at(".gitconfig")); err != nil {
		t.Fatal(err)
	}
	if c := planWithTemp(t, h, confinedProgram("sh")).Sandbox; opens(c, at(".gitconfig")) {
		t.Error("it is open to the second plan")
	}
}
