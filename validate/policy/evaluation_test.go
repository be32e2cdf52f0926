package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
)

// evaluate opens the rules for a call of do_it under the boundary home/project.
func (w *world) evaluate(rules ...Rule) *Evaluation {
	w.t.Helper()
	return &Evaluation{Ruling: w.compile(Policy{Rules: rules}).Ruling("child", "do_it"), Machine: &w.m, Guard: w.boundary("project")}
}

// candidate returns what a path means to the boundary: all readings have to lie inside.
func (w *world) candidate(e *Evaluation, path string) *Candidate {
	place, err := guard.Resolve(w.m.FS, w.path(path))
	u := &Candidate{Place: place, Known: err == nil}
	lexical, physical, cleaned := e.Guard.Inside(&place.Readings)
	if err == nil && (e.Unbounded || lexical && physical && cleaned) {
		u.BoundaryDecision = Allow
	}
	return u
}

// decide decides a finding that stands for these paths. The text is decision, rule, and what it says besides.
func (w *world) decide(e *Evaluation, role access.Role, paths ...string) string {
	var t Candidates
	var kinds []int
	for _, p := range paths {
		kinds = append(kinds, e.Add(&t, w.candidate(e, p), role, p))
	}
	out := e.Decide(&t)
	text := out.Decision.String()
	if out.Rule != nil {
		text += " " + out.Rule.Name + " " + out.Leads
	}
	if out.Granted {
		text += " granted"
	}
	for i, kind := range kinds {
		if t.Asks(kind) {
			text += " asks " + paths[i]
		}
	}
	return text
}

// TestDecide: rules stand in order; one that denies or escalates matches if any reading of any candidate does, one that
// allows only if all readings of all candidates do.
func TestDecide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.Symlink(w.path("project/src"), w.path("project/inner")))
	rule := func(then Decision, dir string, roles ...access.Role) Rule {
		return Rule{Then: then, Paths: w.in(dir, roles...)}
	}
	outside := func(then Decision) Rule { return Rule{Then: then, Paths: &PathRule{Outside: true}} }
	deny, ask, allow := rule(Deny, "project/src"), rule(Escalate, "project/src"), rule(Allow, "out")
	granted := []Grant{{Path: w.path("out"), Roles: AnyRole}}
	list := func(rules ...Rule) []Rule { return rules }
	for _, e := range []struct {
		name  string
		rules []Rule
		role  access.Role
		paths string
		want  string // by decide
	}{
		{"inside", list(rule(Deny, "outer")), access.Read, "project/a.txt", "allow"},
		{"outside", list(rule(Deny, "outer")), access.Read, "out/f", "deny"},
		{"one of two outside", list(rule(Deny, "outer")), access.Read, "project/a.txt out/f", "deny"},

		{"allowed", list(allow), access.Read, "out/f", "allow 1 out/f"},
		{"the directory itself", list(allow), access.Read, "out", "allow 1 out"},
		{"what is missing there", list(allow), access.Write, "out/no/such", "allow 1 out/no/such"},
		{"a look-alike", list(allow), access.Read, "outer", "deny"},
		{"by another name", list(rule(Allow, "alias")), access.Read, "out/f", "allow 1 out/f"},
		{"by that name", list(rule(Allow, "alias")), access.Read, "alias/f", "allow 1 alias/f"},
		{"in one reading only", list(allow), access.Read, "project/link/f", "deny"},
		{"climbing out", list(allow), access.Read, "out/../outer", "deny"},
		{"for another role", list(rule(Allow, "out", access.Read)), access.Write, "out/f", "deny"},
		{"for the role", list(rule(Allow, "out", access.Read, access.Write)), access.Write, "out/f", "allow 1 out/f"},
		{"each is allowed by something", list(allow), access.Read, "project/a.txt out/f", "allow 1 out/f"},
		{"by one rule each", list(rule(Allow, "outer"), allow), access.Read, "out/f outer/x", "allow 2 out/f"},
		{"and one is not", list(allow), access.Read, "out/f outer/x", "deny"},
		{"everywhere", list(Rule{Then: Allow}), access.Read, "out/f outer/x", "allow 1 out/f"},
		{"any path", list(Rule{Then: Allow, Paths: &PathRule{}}), access.Read, "out/f", "allow 1 out/f"},
		{"what lies outside", list(outside(Allow)), access.Read, "out/f", "allow 1 out/f"},
		{"what lies outside, beside what lies inside", list(outside(Allow)), access.Read, "out/f project/a.txt", "allow 1 out/f"},
		{"outside in one reading", list(outside(Allow)), access.Read, "project/link/f", "deny"},
		{"outside and within", list(Rule{Then: Allow, Paths: &PathRule{Outside: true, Within: w.path("out")}}), access.Read, "outer/x", "deny"},

		{"denied", list(deny), access.Read, "project/src/main.go", "deny 1 project/src/main.go"},
		{"denied as one of two", list(deny), access.Read, "project/a.txt project/src/x", "deny 1 project/src/x"},
		{"denied through a link", list(deny), access.Read, "project/inner/main.go", "deny 1 project/inner/main.go"},
		{"it climbs out of what is denied", list(deny), access.Read, "project/src/../a.txt", "allow"},
		{"denied as the kernel follows it", list(rule(Deny, "outer")), access.Read, "project/link/../outer/x", "deny 1 project/link/../outer/x"},
		{"denied when it is cleaned before", list(deny), access.Read, "project/link/../inner/x", "deny 1 project/link/../inner/x"},
		{"its look-alike", list(deny), access.Read, "project/srcs", "allow"},
		{"a tool's every path", list(Rule{Then: Deny}), access.Read, "project/a.txt", "deny 1 project/a.txt"},
		{"what lies outside is denied", list(outside(Deny)), access.Read, "out/f", "deny 1 out/f"},
		{"what lies inside is not", list(outside(Deny)), access.Read, "project/a.txt", "allow"},
		{"outside in one reading suffices", list(outside(Deny)), access.Read, "project/link/f", "deny 1 project/link/f"},
		{"outside and within, denied", list(Rule{Then: Deny, Paths: &PathRule{Outside: true, Within: w.path("out")}}, Rule{Then: Allow}), access.Read, "outer/x", "allow 2 outer/x"},
		{"outside and within by different readings", list(Rule{Then: Escalate, Paths: &PathRule{Outside: true, Within: w.path("project")}}), access.Read, "project/link/f", "deny"},
		{"a device is not outside", list(outside(Deny)), access.Read, "/dev/null", "deny"},
		{"no decision", list(Rule{Name: "x", Paths: &PathRule{}}), access.Read, "project/a.txt", "deny x project/a.txt"},

		{"asked", list(ask), access.Read, "project/src/x", "escalate 1 project/src/x asks project/src/x"},
		{"asked about one of two", list(ask), access.Read, "project/a.txt project/src/x", "escalate 1 project/src/x asks project/src/x"},
		{"asked in vain", list(ask), access.Read, "project/src/x out/f", "deny asks project/src/x"},
		{"asked, and the rest is denied by a rule", list(ask, outside(Deny)), access.Read, "project/src/x out/f", "deny 2 out/f asks project/src/x"},
		{"asked first", list(ask, deny), access.Read, "project/src/x", "escalate 1 project/src/x asks project/src/x"},
		{"denied first", list(deny, ask), access.Read, "project/src/x", "deny 1 project/src/x"},
		{"asked under two rules", list(ask, outside(Escalate)), access.Read, "project/src/x outer/x", "escalate 1 project/src/x asks project/src/x asks outer/x"},
		{"about the call", list(Rule{Then: Escalate}), access.Read, "project/a.txt", "escalate 1 project/a.txt"},
		{"about the call, approved", list(Rule{Name: "approved", Then: Escalate}), access.Read, "project/a.txt", "allow approved project/a.txt granted"},
		{"the approval is for another rule", list(Rule{Name: "approved", Then: Deny}), access.Read, "project/a.txt", "deny approved project/a.txt"},
		{"the approval of a call opens no path", list(Rule{Name: "approved", Then: Escalate, Paths: w.in("project/src")}), access.Read, "project/src/x", "escalate approved project/src/x asks project/src/x"},

		{"granted", list(outside(Escalate)), access.Read, "out/f", "allow 1 out/f granted"},
		{"one is granted, one is missing", list(outside(Escalate)), access.Read, "out/f outer/x", "escalate 1 outer/x asks outer/x"},
		{"granted, and the rest is asked about", list(rule(Escalate, "out"), outside(Escalate)), access.Read, "out/f outer/x", "escalate 2 outer/x asks outer/x"},
		{"granted, and the rest is denied", list(rule(Escalate, "out")), access.Read, "out/f outer/x", "deny"},
		{"granted, and the rest is inside", list(outside(Escalate)), access.Read, "project/a.txt out/f", "allow 1 out/f granted"},
		{"a grant lifts no denial", list(rule(Deny, "out")), access.Read, "out/f", "deny 1 out/f"},
		{"a grant opens nothing by itself", list(rule(Deny, "outer")), access.Read, "out/f", "deny"},
	} {
		eval := w.evaluate(e.rules...)
		eval.Approved = "approved"
		if strings.Contains(e.name, "grant") {
			eval.Grants = granted
		}
		if got := w.decide(eval, e.role, strings.Fields(e.paths)...); got != e.want {
			t.Errorf("%s: %q, want %q", e.name, got, e.want)
		}
	}
}

// TestGrants: a grant is exact.
func TestGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir, file := Grant{Path: w.path("out"), Roles: Roles(access.Read)}, Grant{Path: w.path("out/f"), File: true, Roles: Roles(access.Read, access.Write)}
	w.must(os.Symlink(w.path("outer"), w.path("out/planted")))
	for _, e := range []struct {
		name, path string
		role       access.Role
		grants     []Grant
		want       bool
	}{
		{"none", "out/f", access.Read, nil, false},
		{"the directory", "out/f", access.Read, []Grant{dir}, true},
		{"itself", "out", access.Read, []Grant{dir}, true},
		{"through a link", "project/link/f", access.Read, []Grant{dir}, true},
		{"another role", "out/f", access.Write, []Grant{dir}, false},
		{"that file", "out/f", access.Write, []Grant{file}, true},
		{"below that file", "out/f/x", access.Read, []Grant{file}, false},
		{"that file, and it is a directory", "out/sub", access.Read, []Grant{{Path: w.path("out/sub"), File: true, Roles: AnyRole}}, false},
		{"a directory above, as a file", "out/f", access.Read, []Grant{{Path: w.path("out"), File: true, Roles: AnyRole}}, false},
		{"its neighbour", "out/g", access.Read, []Grant{file}, false},
		{"a look-alike", "outer/x", access.Read, []Grant{dir}, false},
		{"a link planted since", "out/planted/x", access.Read, []Grant{dir}, false},
		{"climbing", "out/../outer/x", access.Read, []Grant{dir}, false},
		{"climbing out of a link", "project/link/../outer/x", access.Read, []Grant{{Path: w.path("outer"), Roles: AnyRole}}, false},
		{"the zero grant", "out/f", access.Read, []Grant{{}, {Path: w.path("out")}, {Roles: AnyRole}, {File: true, Roles: AnyRole}}, false},
		{"the second", "out/f", access.Read, []Grant{{}, dir}, true},
	} {
		eval := w.evaluate(Rule{Name: "ask", Then: Escalate, Paths: &PathRule{}})
		eval.Grants = e.grants
		if got := w.decide(eval, e.role, e.path); strings.Contains(got, "granted") != e.want {
			t.Errorf("%s: %s", e.name, got)
		}
	}
}

// TestWhatCannotBeResolved lies in no directory; only rules about every path are about it.
func TestWhatCannotBeResolved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, e := range []struct {
		name string
		rule Rule
		want string
	}{
		{"every call", Rule{Then: Allow}, "allow 1 project/loop"},
		{"every path", Rule{Then: Escalate, Paths: &PathRule{}}, "escalate 1 project/loop asks project/loop"},
		{"within", Rule{Then: Allow, Paths: w.in("project")}, "deny"},
		{"within, escalated", Rule{Then: Escalate, Paths: w.in("project")}, "deny"},
		{"outside", Rule{Then: Escalate, Paths: &PathRule{Outside: true}}, "deny"},
	} {
		if got := w.decide(w.evaluate(e.rule), access.Delete, "project/loop"); got != e.want {
			t.Errorf("%s: %q, want %q", e.name, got, e.want)
		}
	}
}

// TestUnbounded: outside of nothing lies nothing.
func TestUnbounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	eval := w.evaluate(Rule{Then: Deny, Paths: &PathRule{Outside: true}})
	eval.Unbounded = true
	if got := w.decide(eval, access.Read, "out/f"); got != "allow" {
		t.Errorf("%q", got)
	}
	eval.Unbounded = false
	if got := w.decide(eval, access.Read, "out/f"); got != "deny 1 out/f" {
		t.Errorf("control: %q", got)
	}
}

// TestTakesAlong: a call that removes or moves a directory also takes the directory of a rule inside it along, and the rule is about the call.
func TestTakesAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src := func(then Decision) Rule { return Rule{Then: then, Paths: w.in("project/src")} }
	for _, e := range []struct {
		name string
		rule Rule
		role access.Role
		path string
		want bool
	}{
		{"moved", src(Deny), access.Delete, "project", true},
		{"asked about", src(Escalate), access.Delete, "project", true},
		{"listed", src(Deny), access.Read, "project", false},
		{"written", src(Deny), access.Write, "project", false},
		{"beside it", src(Deny), access.Delete, "project/docs", false},
		{"a file", src(Deny), access.Delete, "project/a.txt", false},
		{"allowed anyway", src(Allow), access.Delete, "project", false},
		{"no directory", Rule{Then: Escalate, Paths: &PathRule{Roles: []access.Role{access.Read}}}, access.Delete, "project", false},
		{"only outside", Rule{Then: Deny, Paths: &PathRule{Within: w.path("project/src"), Outside: true}}, access.Delete, "project", false},
		{"through a link", Rule{Then: Deny, Paths: w.in("out/sub")}, access.Delete, "project/link", true},
		{"climbing", src(Deny), access.Delete, "project/docs/..", true},
		{"climbing out of a link", Rule{Then: Deny, Paths: w.in("out/sub")}, access.Delete, "project/link/../out", true},
		{"a rule for reading is about what is taken along", Rule{Then: Deny, Paths: w.in("project/src", access.Read)}, access.Delete, "project", true},
	} {
		eval := w.evaluate(e.rule)
		place, err := guard.Resolve(w.m.FS, w.path(e.path))
		w.must(err)
		var c Candidates
		eval.Add(&c, &Candidate{Place: place, Known: true, BoundaryDecision: Allow}, e.role, "")
		if got := eval.Decide(&c); (got.Rule != nil) != e.want {
			t.Errorf("%s: %v by %+v", e.name, got.Decision, got.Rule)
		}
		if got, want := eval.TakesAny(e.role, &place), e.want && len(e.rule.Paths.Roles) == 0; got != want {
			t.Errorf("%s: it takes something along: %v", e.name, got)
		}
	}
}

// TestAreaRules: what is asked before a name is looked at that would not count inside the boundary.
func TestAreaRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	place := func(p string) *guard.Place {
		place, err := guard.Resolve(w.m.FS, w.path(p))
		w.must(err)
		return &place
	}
	for _, e := range []struct {
		name                          string
		rule                          Rule
		role                          access.Role
		has, touches, matches, beside bool // the role, project/src/x, project/src/y as text, project/docs
	}{
		{"deny", Rule{Then: Deny, Paths: w.in("project/src")}, access.Read, true, true, true, false},
		{"escalate", Rule{Then: Escalate, Paths: w.in("project/src")}, access.Read, true, true, true, false},
		{"allow", Rule{Then: Allow, Paths: w.in("project/src")}, access.Read, false, false, false, false},
		{"another role", Rule{Then: Deny, Paths: w.in("project/src", access.Write)}, access.Read, false, false, false, false},
		{"this role", Rule{Then: Deny, Paths: w.in("project/src", access.Write)}, access.Write, true, true, true, false},
		{"every path", Rule{Then: Deny, Paths: &PathRule{}}, access.Read, false, false, false, false},
		{"every call", Rule{Then: Deny}, access.Read, false, false, false, false},
		{"below", Rule{Then: Deny, Paths: w.in("project/src/x/y")}, access.Read, true, false, false, false},
		{"all of it", Rule{Then: Deny, Paths: w.in("project")}, access.Read, true, true, true, true},
	} {
		eval := w.evaluate(e.rule)
		if got := eval.HasAreaRule(e.role); got != e.has {
			t.Errorf("%s: has an area: %v", e.name, got)
		}
		if got := eval.Touches(e.role, place("project/src/x")); got != e.touches {
			t.Errorf("%s: touches: %v", e.name, got)
		}
		if got := eval.Touches(e.role, place("project/docs")); got != e.beside {
			t.Errorf("%s: touches what lies beside it: %v", e.name, got)
		}
		if got := eval.MatchesArea(e.role, w.path("project/src/y")); got != e.matches {
			t.Errorf("%s: matches: %v", e.name, got)
		}
	}
	eval := w.evaluate(Rule{Then: Deny, Paths: w.in("alias/sub")})
	for _, e := range []struct {
		role access.Role
		path string
		want bool
	}{
		{access.Read, "out/sub/x", true}, {access.Read, "alias/sub/x", true}, {access.Read, "out", false}, {access.Delete, "out", true}, {access.Write, "out", false}, {access.Delete, "outer", false},
	} {
		if got := eval.MatchesArea(e.role, w.path(e.path)); got != e.want {
			t.Errorf("%v %s: %v", e.role, e.path, got)
		}
	}
	several := w.evaluate(Rule{Then: Deny, Paths: w.in("out", access.Delete)}, Rule{Then: Allow, Paths: w.in("project/src")})
	if several.HasAreaRule(access.Read) || several.Touches(access.Read, place("project/src/x")) || !several.HasAreaRule(access.Delete) {
		t.Error("a rule that allows counts beside one that denies")
	}
	if eval.Touches(access.Read, &guard.Place{}) {
		t.Error("no path touches something")
	}
	none := &Evaluation{Machine: &w.m}
	if none.HasAreaRule(access.Read) || none.Touches(access.Read, place("project")) || none.TakesAny(access.Delete, place("project")) || none.MatchesArea(access.Read, "/") {
		t.Error("no rule says something")
	}
}

// TestLateDirectory: a rule that denies holds for a directory that comes later, and for what it is a link to; one that allows
// does not follow.
func TestLateDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rules := []Rule{{Then: Deny, Paths: w.in("project/later")}, {Then: Allow, Paths: w.in("later")}}
	check := func(when string, want map[string]string) {
		t.Helper()
		eval := w.evaluate(rules...)
		for _, again := range []string{"", " again"} {
			for path, want := range want {
				if got, _, _ := strings.Cut(w.decide(eval, access.Read, path), " "); got != want {
					t.Errorf("%s%s: %s: %s, want %s", when, again, path, got, want)
				}
			}
		}
	}
	check("before", map[string]string{"project/later/x": "deny", "project/docs/x": "allow", "later/x": "allow"})
	late := w.evaluate(rules...)
	w.must(os.Symlink(w.path("project/docs"), w.path("project/later")))
	w.must(os.Symlink(w.path("out"), w.path("later")))
	for path, want := range map[string]string{"project/later/x": "deny", "project/docs/x": "deny", "later/f": "deny"} {
		if got, _, _ := strings.Cut(w.decide(late, access.Read, path), " "); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	w.must(os.Remove(w.path("project/later")))
	loop := w.evaluate(rules[0])
	w.must(os.Symlink(w.path("project/later"), w.path("project/later")))
	if got := w.decide(loop, access.Read, "project/docs/x"); got != "allow" {
		t.Errorf("beside a loop: %s", got)
	}
}

// TestCandidates: candidates that the rules cannot tell apart are one kind, and too many kinds are denied.
func TestCandidates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	eval := w.evaluate(Rule{Name: "ask", Then: Escalate, Paths: &PathRule{Outside: true}})
	var one, two Candidates
	a, b := eval.Add(&one, w.candidate(eval, "out/f"), access.Read, "first"), eval.Add(&one, w.candidate(eval, "outer/x"), access.Read, "second")
	if c := eval.Add(&one, w.candidate(eval, "project/a.txt"), access.Read, "third"); a != 0 || b != 0 || c != 1 {
		t.Errorf("kinds %d %d %d", a, b, c)
	}
	if got := eval.Decide(&one); got.Leads != "first" || got.Decision != Escalate || !one.Asks(0) || one.Asks(1) || one.Asks(-1) || one.Asks(2) {
		t.Errorf("%+v", got)
	}
	if two.Take(&one, 1) != 0 || two.Take(&one, 0) != 1 || two.Take(&one, 1) != 0 || two.Take(&one, -1) != -1 || two.Take(&one, 2) != 2 || two.Asks(0) {
		t.Error("kinds are taken wrongly")
	}
	var joined Candidates
	joined.Join(&one)
	if got := eval.Decide(&joined); got.Decision != Escalate || joined.Hard || !joined.Asks(0) {
		t.Errorf("joined: %+v", got)
	}
	hard := Candidate{Hard: true}
	if kind := eval.Add(&two, &hard, access.Read, ""); kind != -1 || !two.Hard {
		t.Errorf("a hard candidate is kind %d", kind)
	}
	if kind := eval.Add(&two, w.candidate(eval, "out/f"), access.Read, ""); kind != -1 {
		t.Errorf("beside a hard candidate: kind %d", kind)
	}
	for _, order := range [][2]*Candidates{{&two, &joined}, {&joined, &two}} {
		all := Candidates{}
		all.Join(order[0])
		if all.Join(order[1]); !all.Hard {
			t.Error("what is hard is lost")
		}
	}

	// Each rule tells one directory apart from all others, and there is one more kind beside them.
	var rules []Rule
	for i := range maxKinds {
		dir := fmt.Sprintf("project/d%03d", i)
		w.must(os.Mkdir(w.path(dir), 0o755))
		rules = append(rules, Rule{Name: dir, Then: Allow, Paths: w.in(dir)})
	}
	eval = w.evaluate(rules...)
	var many Candidates
	for i, r := range rules[1:] {
		if kind := eval.Add(&many, w.candidate(eval, r.Name+"/x"), access.Read, ""); kind != i {
			t.Fatalf("kind %d of %d", kind, i)
		}
	}
	if kind := eval.Add(&many, w.candidate(eval, "project/a.txt"), access.Read, ""); kind != maxKinds-1 {
		t.Errorf("the last kind: %d", kind)
	}
	if got := eval.Decide(&many); got.TooMany || got.Decision != Allow {
		t.Errorf("as many as are kept: %+v", got)
	}
	if kind := eval.Add(&many, w.candidate(eval, rules[0].Name), access.Read, ""); kind != -1 {
		t.Errorf("one more is kind %d", kind)
	}
	if got := eval.Decide(&many); !got.TooMany || got.Decision != Deny {
		t.Errorf("one more: %+v", got)
	}
	var from Candidates
	if from.Join(&many); !eval.Decide(&from).TooMany {
		t.Error("that there are too many is lost")
	}
	from = Candidates{}
	eval.Add(&from, w.candidate(eval, "project/a.txt"), access.Read, "")
	if many.Join(&from); !eval.Decide(&many).TooMany {
		t.Error("that there were too many is lost")
	}
}

// TestKeepsGrant: a grant stays under another policy if the first rule about it does not deny.
func TestKeepsGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, e := range []struct {
		name  string
		rules []Rule
		want  bool
	}{
		{"asked as before", []Rule{{Then: Escalate, Paths: w.in("out")}}, true},
		{"allowed", []Rule{{Then: Allow, Paths: w.in("out")}}, true},
		{"denied", []Rule{{Then: Deny, Paths: w.in("out")}}, false},
		{"denied first", []Rule{{Then: Deny, Paths: w.in("out")}, {Then: Escalate}}, false},
		{"denied behind", []Rule{{Then: Escalate}, {Then: Deny, Paths: w.in("out")}}, true},
		{"denied for another role", []Rule{{Then: Deny, Paths: w.in("out", access.Write)}, {Then: Escalate}}, true},
		{"nothing about it", []Rule{{Then: Escalate, Paths: w.in("outer")}}, false},
		{"outside", []Rule{{Then: Escalate, Paths: &PathRule{Outside: true}}}, true},
		{"outside denied", []Rule{{Then: Deny, Paths: &PathRule{Outside: true}}, {Then: Escalate}}, false},
	} {
		place, err := guard.Resolve(w.m.FS, w.path("out/f"))
		w.must(err)
		if got := w.evaluate(e.rules...).KeepsGrant(access.Read, &place); got != e.want {
			t.Errorf("%s: %v", e.name, got)
		}
	}
}

// TestCallsWithoutPaths: a rule that asks nothing about paths is about the call itself, one that asks anything is not.
func TestCallsWithoutPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, e := range []struct {
		name   string
		rules  []Rule
		want   string // the rule
		passes bool
	}{
		{"paths empty", []Rule{{Then: Deny, Paths: &PathRule{}}}, "", true},
		{"deny", []Rule{{Then: Deny}}, "1", false},
		{"escalate", []Rule{{Then: Escalate}}, "1", false},
		{"allow", []Rule{{Then: Allow}}, "1", true},
		{"the first of two", []Rule{{Then: Allow, Tools: []string{"do_*"}}, {Then: Deny}}, "1", true},
		{"behind one about paths", []Rule{{Then: Allow, Paths: &PathRule{}}, {Then: Deny}}, "2", false},
		{"another tool", []Rule{{Then: Deny, Tools: []string{"x"}}}, "", true},
		{"for some people", []Rule{{Then: Allow, People: People{Principals: []string{"a"}}}}, "1", false},
	} {
		r := w.compile(Policy{Rules: e.rules}).Ruling("child", "do_it")
		got := ""
		if rule := r.WithoutPaths(); rule != nil {
			got = rule.Name
		}
		if got != e.want || r.LetsPass() != e.passes {
			t.Errorf("%s: by %q, passes %v", e.name, got, r.LetsPass())
		}
	}
}

// TestDeniesChild: what is about all of a child is a rule without a condition on tools or paths.
func TestDeniesChild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, e := range []struct {
		name  string
		rules []Rule
		want  bool
	}{
		{"denied", []Rule{{}}, true},
		{"every tool", []Rule{{Tools: []string{"x", "*"}}}, true},
		{"some tools", []Rule{{Tools: []string{"x*"}}}, false},
		{"paths", []Rule{{Paths: &PathRule{}}}, false},
		{"another child", []Rule{{Servers: []string{"other"}}}, false},
		{"allowed before", []Rule{{Then: Allow, Tools: []string{"x"}}, {}}, false},
		{"another child is allowed before", []Rule{{Then: Allow, Servers: []string{"other"}}, {}}, true},
		{"for some people", []Rule{{People: People{Groups: []string{"g"}}}}, true},
		{"some people may", []Rule{{Then: Allow, People: People{Groups: []string{"g"}}}, {}}, true},
	} {
		if got := w.compile(Policy{Rules: e.rules}).DeniesChild("child"); got != e.want {
			t.Errorf("%s: %v", e.name, got)
		}
	}
}

// closing lets no link count.
type closing struct{ guard.OS }

func (closing) WhyClosed(c guard.RootCandidate, operator bool) string {
	if operator && len(c.Links) > 0 {
		return "a server could have made it"
	}
	return ""
}

// A rule whose directory a server could have put there allows nothing and is not served. It denies and asks as before.
func TestARuleByALinkOfAServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rules := []Rule{{Then: Deny, Paths: w.in("alias", access.Delete)}, {Then: Allow, Paths: w.in("alias", access.Read)}, {Then: Escalate, Serve: true, Paths: w.in("alias")}}
	check := func(what string, read string, dirs int, note string) {
		t.Helper()
		e := w.evaluate(rules...)
		for role, want := range map[access.Role]string{access.Delete: "deny 1 out/f", access.Read: read, access.Write: "escalate 3 out/f asks out/f"} {
			if got := w.decide(e, role, "out/f"); got != want {
				t.Errorf("%s: %s: %q, want %q", what, role, got, want)
			}
		}
		c := w.compile(Policy{Rules: rules})
		info, _ := c.Info()
		if got := []int{len(c.WritableDirs()), len(c.Directories("child", nil)), len(c.DeniedDirs("child"))}; !slices.Equal(got, []int{dirs, dirs, 1}) || (c.OpenedDir(w.path("out/f")) != "") != (dirs > 0) || info.Rules[1].Closed != note {
			t.Errorf("%s: %v, %+v", what, got, info.Rules[1])
		}
	}
	check("control", "allow 2 out/f", 1, "")
	w.m.FS = closing{}
	check("closed", "escalate 3 out/f asks out/f", 0, "a server could have made it")
}
