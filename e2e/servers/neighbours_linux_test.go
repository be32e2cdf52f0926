package servers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// pairsEach is how many pairs of neighbouring versions there are of one server at most.
const pairsEach = 4

// Pairs that are compared at the fewest, and at the most. As many neighbours as the latter are held to a bound.
const fewestPairs, enoughPairs = 20, 100

// A changed is a difference from hub.lock, as `lock --check --json` has it.
type changed struct {
	Of    string `json:"of"`
	Name  string `json:"name"`
	Grows bool   `json:"grows"`
	What  string `json:"what"`
}

// A neighbourhood is a server of npm with its newest versions.
type neighbourhood struct {
	*world.World
	server, program string
	entry           obj
}

// TestLocksOfNeighbouringVersions locks a version of a server of npm and compares the next one with that. Both are honest, so that few pairs
// may ask about tools that were there. The newest versions count, and they come from the registry. MCPHUB_LONG_CASES says how many pairs,
// 100 at most.
// A registry that leaves versions out has pairs that are no neighbours: these are counted apart, and held to nothing.
func TestLocksOfNeighbouringVersions(t *testing.T) {
	if !world.Long {
		t.Skip("MCPHUB_E2E_LONG is not set: it downloads several versions of servers")
	}
	world.RequireNode(t)
	want := min(seeds.Cases(t, fewestPairs), enoughPairs)
	var near, far asks
	for _, s := range listedServers {
		if near.pairs+far.pairs >= want {
			break
		}
		n := &neighbourhood{World: world.New(t), server: s.server, program: s.program}
		n.entry = obj{"command": "node", "args": append([]string{n.Path("now", "node_modules", s.program)}, s.args...)}
		if s.env != nil {
			n.entry["env"] = s.env
		}
		if s.keeps != nil {
			var open []string
			for _, folder := range s.keeps {
				open = append(open, strings.ReplaceAll(folder, "{home}", n.Home))
				world.Must(t, os.MkdirAll(open[len(open)-1], 0o700))
			}
			n.entry["sandbox"] = obj{"write": open}
		}
		former := ""
		versions := n.newestVersions(min(pairsEach, want-near.pairs-far.pairs) + 1)
		for i, version := range versions {
			changes, why := n.compareNext(version, former != "", i < len(versions)-1)
			if why != "" {
				t.Logf("%s@%s is left out: %s", s.server, version, why)
				former = ""
				continue
			}
			if former != "" {
				of := &far
				if areNeighbours(former, version) {
					of = &near
				}
				of.note(changes)
				t.Logf("%s %s -> %s: %d changes", s.server, former, version, len(changes))
				for _, c := range changes {
					if c.Grows {
						t.Logf("\t%s %q: %s", c.Of, c.Name, c.What)
					}
				}
			}
			former = version
		}
	}
	t.Logf("neighbours: %s\nothers: %s", &near, &far)
	if pairs := near.pairs + far.pairs; pairs < min(want, fewestPairs) {
		t.Errorf("%d pairs, want %d", pairs, min(want, fewestPairs))
	}
	if near.pairs < enoughPairs {
		return // a few servers that have begun to give hints would decide
	}
	if most := near.pairs * 6 / 100; near.known > most {
		t.Errorf("%d of %d neighbours ask about tools that were there, want at most %d", near.known, near.pairs, most)
	}
	if most := near.pairs / 5; near.fresh > most {
		t.Errorf("%d of %d neighbours ask about new tools, want at most %d", near.fresh, near.pairs, most)
	}
}

// asks counts pairs of versions, and how many of them ask about tools that were there, about new tools, and about anything else.
type asks struct{ pairs, known, fresh, texts int }

func (a *asks) String() string {
	return fmt.Sprintf("%d pairs; %d ask about tools that were there, %d about new tools, %d about prompts, resources or instructions", a.pairs, a.known, a.fresh, a.texts)
}

func (a *asks) note(changes []changed) {
	var known, fresh, texts int
	for _, c := range changes {
		switch {
		case !c.Grows:
		case c.Of != "tool":
			texts = 1
		case strings.HasPrefix(c.What, "the tool is new"):
			fresh = 1
		default:
			known = 1
		}
	}
	a.pairs, a.known, a.fresh, a.texts = a.pairs+1, a.known+known, a.fresh+fresh, a.texts+texts
}

// areNeighbours reports whether no release lies between two versions, as far as their numbers tell: they have the same major number, and minor
// numbers that follow each other, or the same with patch numbers that do.
func areNeighbours(was, now string) bool {
	var a, b [3]int
	for _, of := range []struct {
		text string
		n    *[3]int
	}{{was, &a}, {now, &b}} {
		if _, err := fmt.Sscanf(of.text, "%d.%d.%d", &of.n[0], &of.n[1], &of.n[2]); err != nil {
			return false
		}
	}
	return a[0] == b[0] && (a[1] == b[1] && b[2]-a[2] == 1 || b[1]-a[1] == 1 && b[2] == 0)
}

// newestVersions returns so many of the newest versions that are no preview, the oldest first.
func (n *neighbourhood) newestVersions(most int) []string {
	n.T.Helper()
	out, err := exec.Command("npm", "view", n.server, "versions", "--json").Output()
	if err != nil {
		n.T.Fatalf("npm view %s: %v", n.server, err)
	}
	var all []string
	if err := json.Unmarshal(out, &all); err != nil { // one version alone is no list
		return nil
	}
	all = slices.DeleteFunc(all, func(v string) bool { return strings.Contains(v, "-") })
	return all[max(0, len(all)-most):]
}

// compareNext installs a version, compares it with hub.lock if there is one, and locks it if another version follows. why reports why it cannot be
// compared.
func (n *neighbourhood) compareNext(version string, locked, follows bool) (changes []changed, why string) {
	n.T.Helper()
	dir := n.Path("now")
	world.Must(n.T, os.RemoveAll(dir))
	world.Must(n.T, os.MkdirAll(dir, 0o700))
	install := exec.Command("npm", "install", "--prefix", dir, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", n.server+"@"+version)
	if said, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Sprintf("npm install: %v\n%.300s", err, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", n.program)); err != nil {
		return nil, "its program lies elsewhere"
	}
	config := n.Config(obj{"kid": n.entry})
	args := []string{"lock", "--config", config, "--root", n.Project, "--json"}
	if locked {
		checked, why := n.lock(append(args, "--check"))
		if why != "" {
			return nil, why
		}
		changes = checked
	}
	if follows {
		_, why = n.lock(args)
	}
	return changes, why
}

// lock runs mcphub lock, and returns what has changed.
func (n *neighbourhood) lock(args []string) (changes []changed, why string) {
	n.T.Helper()
	out, code := n.Command(args...)
	var report struct {
		Servers []struct {
			Tools   int       `json:"tools"`
			Changes []changed `json:"changes"`
			Error   string    `json:"error"`
		} `json:"servers"`
	}
	text, _, _ := strings.Cut(out[max(0, strings.Index(out, "{")):], "\n}\n")
	if err := json.Unmarshal([]byte(text+"\n}"), &report); err != nil || len(report.Servers) != 1 {
		n.T.Fatalf("mcphub %s: exit status %d, %v\n%s", strings.Join(args, " "), code, err, out)
	}
	s := &report.Servers[0]
	if s.Error != "" || s.Tools == 0 {
		return nil, cmp.Or(s.Error, "it lists no tools")
	}
	return s.Changes, ""
}
