package policy

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/machine"
)

// stampedDisk is the disk below a folder, with stamps that are exact: each change is made through it. It counts looks.
type stampedDisk struct {
	guard.OS
	changes map[string]int64 // by directory, the last of count
	count   int64
	unsure  bool // nothing is settled
	looks   int
}

func (d *stampedDisk) Lstat(name string) (fs.FileInfo, error) { d.looks++; return os.Lstat(name) }
func (d *stampedDisk) Readlink(name string) (string, error)   { d.looks++; return os.Readlink(name) }
func (d *stampedDisk) Mode(name string) (fs.FileMode, error) {
	d.looks++
	return d.OS.Mode(name)
}

// Whole finds nothing, so that each look is counted.
func (d *stampedDisk) Whole(string) (guard.Entry, bool) { return guard.Entry{}, false }

func (d *stampedDisk) Stamp(dir string) (guard.DirStamp, bool) {
	d.looks++
	info, err := os.Lstat(dir)
	if real, _ := filepath.EvalSymlinks(dir); err != nil || real != dir || !info.IsDir() {
		return guard.DirStamp{}, false
	}
	return guard.DirStamp{Inode: info.Sys().(*syscall.Stat_t).Ino, Changed: d.changes[dir]}, true
}

func (d *stampedDisk) Settled(string, guard.DirStamp) bool { return !d.unsure }

// change changes an entry.
func (d *stampedDisk) change(path string, by func() error) {
	if by() == nil {
		d.count++
		real, _ := filepath.EvalSymlinks(filepath.Dir(path))
		d.changes[real], d.changes[path] = d.count, d.count
	}
}

// drawnRule draws a rule about directories below a place, most of which are not there.
func drawnRule(t *rapid.T, i int, dirs []string) Rule {
	r := Rule{Name: fmt.Sprint("rule ", i), Then: Decision(rapid.IntRange(0, 2).Draw(t, "then"))}
	if rapid.IntRange(0, 9).Draw(t, "paths") == 0 {
		return r
	}
	r.Paths = &PathRule{Roles: rapid.SampledFrom([][]access.Role{nil, nil, {access.Read}, {access.Write, access.Delete}, {access.Delete}}).Draw(t, "roles")}
	if rapid.IntRange(0, 4).Draw(t, "within") > 0 {
		r.Paths.Within = rapid.SampledFrom(dirs).Draw(t, "dir")
	}
	r.Paths.Outside = rapid.IntRange(0, 4).Draw(t, "outside") == 0
	return r
}

// TestTheIndexDecidesAsAllRulesDo: what is decided of random paths by random rules is the same, with the same rule, whether the index names
// the rules to ask or all are asked, and whatever of the disk changes between two calls.
func TestTheIndexDecidesAsAllRulesDo(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	trees, settled, loose := 0, 0, 0
	seeds.CheckCases(t, seeds.Cases(t, 400), func(t *rapid.T) {
		trees++
		home := filepath.Join(top, fmt.Sprint(trees))
		names := []string{"a", "b", "l"}
		places := []string{home}
		for range 2 { // two levels
			for _, dir := range slices.Clone(places) {
				for _, name := range names {
					places = append(places, filepath.Join(dir, name))
				}
			}
		}
		places = slices.Compact(slices.Sorted(slices.Values(places)))
		disk := &stampedDisk{changes: map[string]int64{}, unsure: rapid.IntRange(0, 5).Draw(t, "unsure") == 0}
		if err := os.MkdirAll(filepath.Join(home, "a", "a"), 0o755); err != nil {
			t.Fatal(err)
		}
		changes := func(most int) {
			for range rapid.IntRange(0, most).Draw(t, "changes") {
				path := rapid.SampledFrom(places[1:]).Draw(t, "changed")
				switch rapid.IntRange(0, 2).Draw(t, "how") {
				case 0:
					disk.change(path, func() error { return os.Mkdir(path, 0o755) })
				case 1:
					target := rapid.SampledFrom(places).Draw(t, "target")
					disk.change(path, func() error { return os.Symlink(target, path) })
				default:
					disk.change(path, func() error { return os.RemoveAll(path) })
				}
			}
		}
		changes(6)
		m := machine.New(disk, home, func(string) string { return "" }, nil)
		p := Policy{}
		for i := range rapid.IntRange(1, 12).Draw(t, "rules") {
			p.Rules = append(p.Rules, drawnRule(t, i, places))
		}
		c, err := Compile(&m, p, nil)
		if err != nil {
			t.Skip(err)
		}
		ruling := c.Ruling("child", "do_it")
		plain := &Ruling{policy: c, set: &ruleSet{rules: ruling.set.rules, outside: ruling.set.outside, roles: ruling.set.roles, everyRule: true}}
		every := plain.set.allRules(nil)
		boundary := rootsmgr.NewSnapshot(disk, 1, rootsmgr.OriginAsked, []rootsmgr.RootEntry{{URI: filepath.Join(home, "a")}}).Guard()
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			paths := rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(places), home+"/a/../b", home+"/l/../a", home+"/l/../b", home+"/a/l/..", home+"/b/l/..", home+"/l/l/x", home+"/a\\b")), 1, 3).Draw(t, "paths")
			role := rapid.SampledFrom([]access.Role{access.Read, access.Write, access.Delete}).Draw(t, "role")
			decide := func(r *Ruling, asked []int) string {
				e := &Evaluation{Ruling: r, Machine: &m, Guard: boundary, loose: asked, Approved: "rule 0"}
				e.Grants = []Grant{{Path: filepath.Join(home, "b"), Roles: AnyRole}}
				var all Candidates
				text := fmt.Sprint(e.HasAreaRule(role))
				for _, path := range paths {
					place, err := guard.Resolve(disk, path)
					u := &Candidate{Place: place, Known: err == nil}
					if lexical, physical, cleaned := boundary.Inside(&place.Readings); err == nil && lexical && physical && cleaned {
						u.BoundaryDecision = Allow
					}
					text += fmt.Sprint(" ", e.Add(&all, u, role, path), e.MatchesArea(role, path), e.Confines(path))
					if err == nil {
						text += fmt.Sprint(e.Touches(role, &place), e.TakesAny(role, &place), e.KeepsGrant(role, &place))
					}
				}
				out := e.Decide(&all)
				if out.Rule != nil {
					text += " " + out.Rule.Name
				}
				for kind := range all.kinds {
					text += fmt.Sprint(all.Asks(kind))
				}
				if asked == nil && len(ruling.set.late.rules) > 0 {
					loose += len(e.looseRules())
					settled += len(ruling.set.late.rules) - len(e.looseRules())
				}
				return text + fmt.Sprint(" ", out.Decision, out.Leads, out.Granted, out.TooMany)
			}
			if got, want := decide(ruling, nil), decide(plain, every); got != want {
				t.Fatalf("%s of %q:\n%s, and without the index\n%s", role, paths, got, want)
			}
			changes(3)
		}
	})
	if settled < trees || loose < trees/4 {
		t.Errorf("of %d policies %d rules were settled, and %d loose", trees, settled, loose)
	}
}

// TestACallCostsNoRules: how many rules are asked about a path, and how often the disk is, does not depend on how many there are.
func TestACallCostsNoRules(t *testing.T) {
	t.Parallel()
	cost := func(n int, dir string) (asked, looks int) {
		home, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		disk := &stampedDisk{changes: map[string]int64{}}
		m := machine.New(disk, home, func(string) string { return "" }, nil)
		var p Policy
		for i := range n {
			p.Rules = append(p.Rules, Rule{Name: fmt.Sprint(i), Then: Decision(i % 2), Paths: &PathRule{Within: filepath.Join(home, fmt.Sprintf(dir, i)), Outside: i%5 == 0}})
		}
		p.Rules = append(p.Rules, Rule{Name: "above", Then: Escalate, Paths: &PathRule{Within: home}}, Rule{Name: "any", Then: Allow, Paths: &PathRule{}}, Rule{Name: "call", Then: Allow})
		c, err := Compile(&m, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := c.Ruling("child", "do_it")
		for range 2 { // the first one settles the rules
			disk.looks = 0
			e := &Evaluation{Ruling: r, Machine: &m, Guard: &guard.Guard{}}
			place, err := guard.Resolve(disk, filepath.Join(home, "x", "y"))
			if err != nil {
				t.Fatal(err)
			}
			var all Candidates
			e.Add(&all, &Candidate{Place: place, Known: true}, access.Read, "")
			if out := e.Decide(&all); out.Decision != Escalate || out.Rule.Name != "above" {
				t.Fatalf("%+v", out)
			}
			asked, looks = len(e.ask), disk.looks
		}
		return asked, looks
	}
	for _, dir := range []string{"d%d", "no/d%d"} {
		asked, looks := cost(10, dir)
		if more, moreLooks := cost(10_000, dir); more != asked || asked != 3 || moreLooks != looks {
			t.Errorf("%s: of 10 rules %d were asked with %d looks, of 10,000 %d with %d", dir, asked, looks, more, moreLooks)
		}
	}
}
