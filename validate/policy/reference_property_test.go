package policy_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// forest makes disks with directories, files and links among them, some of which lead nowhere, up, or in a circle.
func forest(t *testing.T, trees int) [][]string {
	rng := seeds.Rand(t)
	var out [][]string
	for range trees {
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		dirs := []string{top}
		for range 9 {
			d := filepath.Join(dirs[rng.IntN(len(dirs))], string(rune('a'+rng.IntN(4))))
			if os.Mkdir(d, 0o755) == nil {
				dirs = append(dirs, d)
			}
		}
		for i := range 4 {
			_ = os.WriteFile(filepath.Join(dirs[rng.IntN(len(dirs))], fmt.Sprintf("f%d", i%2)), nil, 0o644)
		}
		all := slices.Clone(dirs)
		for i := range 6 {
			link := filepath.Join(dirs[rng.IntN(len(dirs))], fmt.Sprintf("l%d", i%3))
			target := dirs[rng.IntN(len(dirs))]
			switch rng.IntN(6) {
			case 0:
				target = "../" + filepath.Base(target)
			case 1:
				target += "/new"
			case 2:
				target = filepath.Join(target, fmt.Sprintf("l%d", rng.IntN(3)))
			}
			if os.Symlink(target, link) == nil {
				all = append(all, link)
			}
		}
		out = append(out, all)
	}
	return out
}

// isPlace reports that a path may be the directory of a rule or a root: it is none of the odd links.
func isPlace(p string, missing bool) bool {
	real, err := refFollow(p)
	if err != nil {
		return false
	}
	info, err := os.Lstat(real)
	return err == nil && info.IsDir() || err != nil && missing
}

var refNames = []string{"a", "b", "c", "d", "l0", "l1", "l2", "f0", "new", "..", "."}

type refDraw struct {
	t    *rapid.T
	tree []string
}

func (d refDraw) place(label string, missing bool) string {
	return rapid.Custom(func(t *rapid.T) string {
		p := rapid.SampledFrom(d.tree).Draw(t, "dir")
		if missing && rapid.IntRange(0, 4).Draw(t, "further") == 0 {
			p += "/" + rapid.SampledFrom([]string{"a", "b", "l1", "new"}).Draw(t, "name")
		}
		return p
	}).Filter(func(p string) bool { return isPlace(p, missing) }).Draw(d.t, label)
}

func (d refDraw) places(label string, least, most int) []string {
	var out []string
	for range rapid.IntRange(least, most).Draw(d.t, label) {
		out = append(out, d.place(label, false))
	}
	return out
}

func (d refDraw) rule(i int) policy.Rule {
	t := d.t
	r := policy.Rule{Name: fmt.Sprintf("rule %d", i+1), Then: rapid.SampledFrom([]policy.Decision{policy.Allow, policy.Deny, policy.Escalate}).Draw(t, "then"), Serve: rapid.Bool().Draw(t, "serve")}
	r.Servers = rapid.SampledFrom([][]string{nil, nil, {"child"}, {"other", "ch*"}, {"other"}}).Draw(t, "servers")
	r.Tools = rapid.SampledFrom([][]string{nil, nil, {"do_it"}, {"do_*"}, {"x*"}}).Draw(t, "tools")
	if rapid.IntRange(0, 7).Draw(t, "paths") > 0 {
		r.Paths = &policy.PathRule{Roles: rapid.SampledFrom([][]access.Role{nil, nil, {access.Read}, {access.Write, access.Delete}, {access.Delete}}).Draw(t, "roles")}
		if rapid.IntRange(0, 3).Draw(t, "in") > 0 {
			r.Paths.Within = d.place("within", true)
		}
		r.Paths.Outside = rapid.IntRange(0, 3).Draw(t, "out") == 0
	}
	return r
}

func (d refDraw) world() *refWorld {
	t := d.t
	w := &refWorld{roots: usable(d.places("roots", 0, 2))}
	for i := range rapid.IntRange(0, 5).Draw(t, "rules") {
		w.rules = append(w.rules, d.rule(i))
	}
	if rapid.IntRange(0, 3).Draw(t, "sandboxed") == 0 {
		w.sandbox = refMust(d.place("sandbox", false))
	}
	if rapid.IntRange(0, 3).Draw(t, "shielded") == 0 {
		w.protected = []string{refMust(d.place("protected", false))}
	}
	if rapid.IntRange(0, 4).Draw(t, "capped") == 0 && (len(w.rules) > 0 || w.sandbox != "") {
		w.ceiling = usable(d.places("ceiling", 1, 2))
	}
	if w.ceiling != nil && len(w.ceiling) == 0 {
		w.ceiling = nil
	}
	w.open = len(w.roots) == 0 && w.ceiling == nil && rapid.Bool().Draw(t, "open")
	for range rapid.IntRange(0, 3).Draw(t, "grants") {
		g := policy.Grant{Path: refMust(d.place("grant", false)), Roles: policy.Roles(rapid.SampledFrom([][]access.Role{{access.Read}, {access.Write}, {access.Read, access.Write, access.Delete}}).Draw(t, "granted")...)}
		if rapid.Bool().Draw(t, "file") {
			g.Path, g.File = g.Path+"/f0", true
		}
		w.grants = append(w.grants, g)
	}
	w.cwd = refMust(d.place("cwd", false))
	return w
}

// usable leaves out the roots that are links inside others: rootsmgr does not
// follow them out of those, and has tests of its own for that.
func usable(dirs []string) []string {
	skipped := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginConfig, entries(dirs)).Skipped()
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return slices.ContainsFunc(skipped, func(s rootsmgr.Skipped) bool { return s.Raw == dir && strings.Contains(s.Reason, "link inside") })
	})
}

func entries(dirs []string) []rootsmgr.RootEntry {
	var out []rootsmgr.RootEntry
	for _, d := range dirs {
		out = append(out, rootsmgr.RootEntry{URI: d})
	}
	return out
}

// refTools are tools whose paths have the role that is written beside them, by their annotations and their names, and that
// no operator has declared.
var refTools = []struct {
	name, annotations string
	role              access.Role
}{
	{"do_it", `{}`, access.Write}, {"do_it", `{"readOnlyHint":true}`, access.Read}, {"do_it", `{"destructiveHint":true}`, access.Write},
	{"do_it", `{"readOnlyHint":true,"destructiveHint":true}`, access.Write},
	{"read_it", `{}`, access.Read}, {"read_it", `{"destructiveHint":true}`, access.Write}, {"write_it", `{"readOnlyHint":true}`, access.Write},
	{"delete_it", `{"readOnlyHint":true}`, access.Delete}, {"xdelete_it", `{}`, access.Write},
}

// TestPolicyReference: for random disks, policies, calls and grants the decision is the decision of the slow
// reference, and a grant turns nothing but what was escalated. MCPHUB_LONG_CASES says how many calls.
func TestPolicyReference(t *testing.T) {
	t.Parallel()
	trees := forest(t, 20)
	got := map[policy.Decision]int{}
	opened, none, fired := 0, 0, map[string]int{}
	seeds.CheckCases(t, seeds.Cases(t, 1500), func(t *rapid.T) {
		d := refDraw{t, rapid.SampledFrom(trees).Draw(t, "tree")}
		ref := d.world()
		roles := map[string]access.Role{"p0": access.Read, "p1": access.Write, "p2": access.Delete}
		args := map[string]map[string]declare.ArgRule{"*": {}}
		for key, role := range roles {
			args["*"]["/"+key] = declare.ArgRule{Role: role}
		}
		mode, def, of := declare.ModeDeclared, `{"name":"do_it"}`, "do_it"
		keys := []string{"p0", "p1", "p2"}
		if rapid.IntRange(0, 2).Draw(t, "undeclared") == 0 { // what the child says about its tool counts
			kind := rapid.SampledFrom(refTools).Draw(t, "tool")
			mode, of, args, keys = declare.ModeStrict, kind.name, nil, []string{"path"}
			def = fmt.Sprintf(`{"name":%q,"annotations":%s,"inputSchema":{"type":"object"}}`, kind.name, kind.annotations)
			roles = map[string]access.Role{"path": kind.role}
		}
		c, err := validate.NewChecker(validate.Config{
			Children: []validate.ChildConfig{{Name: "child", Command: "x", Args: args, Mode: mode, ModeSet: true}}, Protected: ref.protected,
			Home: "/nonexistent/home", Getenv: func(string) string { return "" }, Policy: policy.Policy{Sandbox: ref.sandbox, Rules: ref.rules},
		})
		if err != nil {
			t.Fatal(err)
		}
		tool, err := c.PrepareTool("child", "", []byte(def))
		if err != nil {
			t.Fatal(err)
		}
		value := rapid.Custom(func(t *rapid.T) string {
			p := rapid.SampledFrom(d.tree).Draw(t, "start")
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				p += "/" + rapid.SampledFrom(refNames).Draw(t, "name")
			}
			return p
		})
		call := map[string]string{}
		if rapid.IntRange(0, 3).Draw(t, "relative") == 0 {
			p := rapid.SampledFrom(refNames).Draw(t, "first")
			for range rapid.IntRange(0, 2).Draw(t, "more") {
				p += "/" + rapid.SampledFrom(refNames).Draw(t, "name")
			}
			call[rapid.SampledFrom(keys).Draw(t, "key")] = p
		} else {
			for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, len(keys), rapid.ID[string]).Draw(t, "keys") {
				call[key] = value.Draw(t, "value")
			}
		}
		raw := `{"n":1`
		for _, key := range slices.Sorted(maps.Keys(call)) {
			raw += fmt.Sprintf(",%q:%q", key, call[key])
		}
		raw += "}"
		approved := "" // a rule about calls that a person has lifted for this one
		if len(ref.rules) > 0 && rapid.IntRange(0, 3).Draw(t, "lifted") == 0 {
			approved = rapid.SampledFrom(ref.rules).Draw(t, "approved").Name
		}
		scan, err := c.Scan(tool, []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		judge := func(grants []policy.Grant, approved string) (*validate.Verdict, policy.Decision) {
			ref.grants, ref.approved = grants, approved
			snap := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginConfig, entries(ref.roots))
			rootsView := rootsmgr.RootsView{Snapshot: snap, Case: rootsmgr.CaseKnown, Open: ref.open}
			if ref.ceiling != nil {
				rootsView.Ceiling = rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginCeiling, entries(ref.ceiling)).Guard()
			}
			ref.served = snap.Paths()
			for _, dir := range c.Rules().Directories("child", grants) {
				ref.served = append(ref.served, dir.Path)
			}
			want := policy.Allow
			for key, v := range call {
				want = min(want, ref.finding("child", of, roles[key], v))
			}
			if len(call) == 0 {
				want = ref.bare("child", of)
			}
			return c.Judge(scan, validate.CallContext{Cwd: ref.cwd, Served: ref.served, Grants: grants, Approved: approved}, rootsView), want
		}
		grants := ref.grants
		v, want := judge(grants, approved)
		if v.Decision != want {
			t.Fatalf("%s: %v by %q, the reference says %v\nworld %+v\nrules %s\nfindings %+v", raw, v.Decision, v.Rule, want, ref, showRules(ref.rules), v.Findings)
		}
		bare, want := judge(nil, "")
		if bare.Decision != want {
			t.Fatalf("without grants %s: %v by %q, the reference says %v\nworld %+v\nrules %s", raw, bare.Decision, bare.Rule, want, ref, showRules(ref.rules))
		}
		if bare.Decision == policy.Deny && v.Decision != policy.Deny {
			t.Fatalf("%s: a grant lifts the denial by %q, now %v by %q:\nworld %+v\ngrants %+v\nrules %s\nbefore %+v\nafter %+v", raw, bare.Rule, v.Decision, v.Rule, ref, grants, showRules(ref.rules), bare.Findings, v.Findings)
		}
		if bare.Decision == policy.Escalate && v.Decision == policy.Allow {
			opened++
		}
		got[v.Decision]++
		if len(call) == 0 && v.Decision != policy.Allow {
			none++
		}
		if v.Fired != nil {
			fired[v.Fired.Then.String()]++
		}
	})
	t.Logf("decisions %v, opened by a person %d, without a path %d, fired %v", got, opened, none, fired)
	if got[policy.Deny] == 0 || got[policy.Allow] == 0 || got[policy.Escalate] == 0 || opened == 0 || none == 0 || len(fired) != 3 {
		t.Error("something was never tested")
	}
}

func showRules(rules []policy.Rule) string {
	s := ""
	for _, r := range rules {
		s += fmt.Sprintf("\n  %s %v servers %v tools %v paths %+v", r.Name, r.Then, r.Servers, r.Tools, r.Paths)
	}
	return s
}
