package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/internal/principal"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/access"
	"mcphub/validate/machine"
)

// world is a small disk: home/project is the boundary, home/out lies outside of it.
//
//	home/project/src/main.go, home/project/docs
//	home/project/link  ->  home/out
//	home/project/loop  ->  home/project/loop
//	home/out/sub, home/out/f, home/outer
//	home/alias         ->  home/out
//	home/box, home/common (for everybody to write in)
type world struct {
	t    testing.TB
	home string
	m    machine.Machine
}

func newWorld(t testing.TB) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, home, machine.New(nil, home, func(string) string { return "" }, nil)}
	for _, dir := range []string{"project/src", "project/docs", "out/sub", "outer"} {
		w.must(os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	w.must(os.Mkdir(home+"/box", 0o700))
	w.must(os.Mkdir(home+"/common", 0o700))
	w.must(os.Chmod(home+"/common", 0o777|os.ModeSticky))
	for _, file := range []string{"project/src/main.go", "project/a.txt", "out/f"} {
		w.must(os.WriteFile(filepath.Join(home, file), nil, 0o644))
	}
	for name, target := range map[string]string{"project/link": home + "/out", "project/loop": home + "/project/loop", "alias": home + "/out"} {
		w.must(os.Symlink(target, filepath.Join(home, name)))
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// path returns a path of the world: "out/f" lies in the home folder, and what is absolute, from ~ or a URI stays as it is.
func (w *world) path(p string) string {
	if p == "" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.Contains(p, ":") {
		return p
	}
	return filepath.FromSlash(w.home + "/" + p)
}

// name returns a path as the tests write it.
func (w *world) name(path string) string {
	return strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(w.home)+"/")
}

// in returns what a rule asks: a path in a directory of the world, in these roles.
func (w *world) in(dir string, roles ...access.Role) *PathRule {
	return &PathRule{Within: w.path(dir), Roles: roles}
}

func (w *world) compile(p Policy) *Compiled {
	w.t.Helper()
	for i := range p.Rules {
		if p.Rules[i].Name == "" {
			p.Rules[i].Name = string(rune('1' + i))
		}
	}
	c, err := Compile(&w.m, p, nil)
	w.must(err)
	return c
}

func (w *world) boundary(roots ...string) *guard.Guard {
	var entries []rootsmgr.RootEntry
	for _, r := range roots {
		entries = append(entries, rootsmgr.RootEntry{URI: w.path(r)})
	}
	return rootsmgr.NewSnapshot(w.m.FS, 1, rootsmgr.OriginConfig, entries).Guard()
}

// failures returns the *Errors that an error joins: rule and key of each.
func failures(t *testing.T, err error) map[int]string {
	t.Helper()
	got := map[int]string{}
	if err == nil {
		return got
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("not joined: %v", err)
	}
	for _, err := range many.Unwrap() {
		var p *Error
		if !errors.As(err, &p) {
			t.Fatalf("no Error: %v", err)
		}
		got[p.Rule] += strings.Join(p.Key, ".")
	}
	return got
}

// TestBadPolicies: one error names everything that is wrong, with its place.
func TestBadPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	within := func(dir string) *PathRule { return &PathRule{Within: dir} }
	_, err := Compile(&w.m, Policy{Sandbox: "no/where", Rules: []Rule{
		{Name: "twice"}, {Name: "twice"}, {Name: "taken"}, {}, {Name: "a", Then: 9}, {Name: "b", Servers: []string{"[a"}}, {Name: "c", Tools: []string{""}},
		{Name: "d", Paths: &PathRule{Roles: []access.Role{access.None}}}, {Name: "e", Paths: within("rel")}, {Name: "f", Paths: within(w.home + "/project/a.txt")},
		{Name: "g", Paths: within(w.home + "/project/loop")}, {Name: "h", Paths: within(w.home + "/*")}, {Name: "i", Paths: within(w.home + "/project/link/../x")},
		{Name: "fine", Paths: within("~/project")}, {Name: "j", People: People{Principals: []string{"{"}}}, {Name: "k", People: People{Groups: []string{""}}},
		{Name: "l", Then: Allow + 1}, {Name: "fine too", Then: Allow}, {Name: "m", Paths: within(w.home + "/?")},
		{Name: "n", Paths: &PathRule{Roles: []access.Role{access.Read, access.None}}},
	}}, []string{"taken"})
	want := map[int]string{-1: "sandbox", 1: "name", 2: "name", 3: "name", 4: "then", 5: "if.servers", 6: "if.tools", 7: "if.paths.roles",
		8: "if.paths.within", 9: "if.paths.within", 10: "if.paths.within", 11: "if.paths.within", 12: "if.paths.within",
		14: "if.principals", 15: "if.groups", 16: "then", 18: "if.paths.within", 19: "if.paths.roles"}
	got := failures(t, err)
	for i, key := range want {
		if got[i] != key {
			t.Errorf("rule %d: told %q, want %q", i, got[i], key)
		}
	}
	if len(got) != len(want) {
		t.Errorf("told of %v", got)
	}
	if got := failures(t, errOf(Compile(&w.m, Policy{Rules: []Rule{{Name: "a", Paths: within(w.home + "/project/a.txt")}}}, nil))); got[0] != "if.paths.within" {
		t.Errorf("a file alone: %v", got)
	}
	for text, e := range map[string]*Error{
		"policy.sandbox: T":                     {Rule: -1, Key: []string{"sandbox"}, Text: "T"},
		"policy: T; H":                          {Rule: -1, Text: "T", Hint: "H"},
		"policy.rules[0].if.paths.within: T; H": {Rule: 0, Key: []string{"if", "paths", "within"}, Text: "T", Hint: "H"},
	} {
		if e.Error() != text {
			t.Errorf("%q, want %q", e.Error(), text)
		}
	}
	if c, err := Compile(&w.m, Policy{Protected: []string{"x"}}, nil); c != nil || err != nil {
		t.Errorf("a policy that adds nothing: %v %v", c, err)
	}
}

func errOf(_ *Compiled, err error) error { return err }

// TestADirectoryWithAStarInItsName: a rule names a directory and no pattern, so that it may name one that is called so.
func TestADirectoryWithAStarInItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for dir, ok := range map[string]bool{"out/a*b": true, "out/*": false} {
		if ok {
			w.must(os.Mkdir(w.path(dir), 0o700))
		}
		if _, err := Compile(&w.m, Policy{Rules: []Rule{{Name: "r", Then: Deny, Paths: w.in(dir)}}}, nil); (err == nil) != ok {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestAbsoluteDir: a directory is written from the root or the home folder.
func TestAbsoluteDir(t *testing.T) {
	t.Parallel()
	m := machine.New(nil, "/home/me", func(string) string { return "" }, nil)
	for given, want := range map[string]string{
		"/x": "/x", "~": "/home/me", "~/x": "/home/me/x", `~\x`: `/home/me\x`, "/~": "/~",
		"~you/x": "", "$HOME/x": "", "x": "", "./x": "", "file:///x": "", "": "",
	} {
		if got, hint := AbsoluteDir(&m, given); got != want || (hint == "") != (want != "") {
			t.Errorf("%q: %q %q", given, got, hint)
		}
	}
	m.Home = ""
	if got, hint := AbsoluteDir(&m, "~/x"); got != "" || hint == "" {
		t.Errorf("without a home folder: %q %q", got, hint)
	}
}

// TestSandbox: it is a directory of this user's own, when the policy is read and at every call.
func TestSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.Symlink(w.home+"/box", w.home+"/boxlink"))
	for _, bad := range []string{"boxlink", "none", "common", "project/a.txt", "/", "~", "~/..", "relative:", "file:///box"} {
		if got := failures(t, errOf(Compile(&w.m, Policy{Sandbox: w.path(bad)}, nil))); got[-1] != "sandbox" || len(got) != 1 {
			t.Errorf("sandbox %s: %v", bad, got)
		}
	}
	c := w.compile(Policy{Sandbox: "~/box"})
	outside, boundary := w.boundary("out"), w.boundary("project")
	inside := func(c *Compiled, p string) bool {
		place, err := c.WithSandbox(&w.m, boundary).Check(w.path(p))
		return err == nil && place.Path != ""
	}
	if !inside(c, "box/x") || !inside(c, "project/a.txt") || inside(c, "out/f") {
		t.Error("the sandbox is not what is inside beside the boundary")
	}
	if _, err := outside.Check(w.path("out/f")); err != nil {
		t.Errorf("control: %v", err)
	}
	for _, none := range []*Compiled{nil, w.compile(Policy{Rules: []Rule{{}}})} {
		if none.WithSandbox(&w.m, boundary) != boundary || inside(none, "box/x") {
			t.Error("control: it is inside without being the sandbox")
		}
	}
	w.must(os.Chmod(w.home+"/box", 0o777))
	if inside(c, "box/x") || !inside(c, "project/a.txt") {
		t.Error("others may write to it now, and it is inside")
	}
	w.must(os.Chmod(w.home+"/box", 0o700))
	if !inside(c, "box/x") {
		t.Error("it is as it was, and not inside")
	}
	w.must(os.Rename(w.home+"/box", w.home+"/box.old"))
	w.must(os.Symlink(w.home+"/out", w.home+"/box"))
	if inside(c, "box/x") || inside(c, "out/f") {
		t.Error("it is a link now, and inside")
	}
}

// TestDirectories: P2. What one child is served beside the client's roots.
func TestDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, sub := w.path("out"), w.path("out/sub")
	full := func(path string) Grant { return Grant{Path: path, Roles: AnyRole} }
	for _, e := range []struct {
		name    string
		sandbox string
		rules   []Rule
		grants  []Grant
		want    []string // path name roles
	}{
		{"nothing", "", nil, nil, nil},
		{"the sandbox", "box", nil, nil, []string{"box sandbox read, write, delete"}},
		{"allow", "box", []Rule{{Name: "a", Then: Allow, Paths: w.in("out")}}, nil, []string{"box sandbox read, write, delete", "out a read, write, delete"}},
		{"allow for a role", "", []Rule{{Name: "a", Then: Allow, Paths: w.in("out", access.Write)}}, nil, []string{"out a write"}},
		{"deny", "", []Rule{{Then: Deny, Paths: w.in("out")}}, nil, nil},
		{"deny, served", "", []Rule{{Then: Deny, Serve: true, Paths: w.in("out")}}, nil, nil},
		{"deny, granted", "", []Rule{{Then: Deny, Paths: w.in("out")}}, []Grant{full(w.path("project"))}, []string{"project escalation-approved read, write, delete"}},
		{"without within", "", []Rule{{Then: Escalate, Serve: true}, {Then: Allow, Paths: &PathRule{Outside: true}}}, nil, nil},
		{"escalate", "", []Rule{{Name: "e", Then: Escalate, Paths: w.in("out")}}, nil, nil},
		{"escalate, served", "", []Rule{{Name: "e", Then: Escalate, Serve: true, Paths: w.in("out")}}, nil, []string{"out e read, write, delete"}},
		{"escalate, granted", "", []Rule{{Name: "e", Then: Escalate, Paths: w.in("out")}}, []Grant{full(out)}, []string{"out e read, write, delete"}},
		{"escalate, granted for a role", "", []Rule{{Name: "e", Then: Escalate, Paths: w.in("out", access.Write)}}, []Grant{{Path: out, Roles: Roles(access.Read)}}, []string{"out e read"}},
		{"escalate, granted twice", "", []Rule{{Name: "e", Then: Escalate, Paths: w.in("out")}}, []Grant{{Path: out, Roles: Roles(access.Read)}, {Path: out, Roles: Roles(access.Write)}}, []string{"out e read, write"}},
		{"escalate, granted above", "", []Rule{{Name: "e", Then: Escalate, Paths: w.in("out/sub")}}, []Grant{full(out)}, []string{"out/sub e read, write, delete", "out escalation-approved read, write, delete"}},
		{"escalate, granted in part", "", []Rule{{Name: "e", Then: Escalate, Paths: w.in("out")}}, []Grant{full(sub)}, []string{"out/sub escalation-approved read, write, delete"}},
		{"escalate, a file granted", "", []Rule{{Name: "e", Then: Escalate, Paths: w.in("out")}}, []Grant{{Path: out, File: true, Roles: AnyRole}}, nil},
		{"granted", "", []Rule{{Name: "e", Then: Escalate}}, []Grant{full(out), {Path: out + "/f", File: true, Roles: AnyRole}, {Path: sub}}, []string{"out escalation-approved read, write, delete"}},
		{"twice, by another name", "", []Rule{{Name: "a", Then: Allow, Paths: w.in("out", access.Read)}, {Name: "b", Then: Allow, Paths: w.in("alias", access.Write)}}, nil, []string{"out a read, write"}},
		{"another server", "", []Rule{{Name: "a", Then: Allow, Servers: []string{"other"}, Paths: w.in("out")}, {Name: "b", Then: Allow, Servers: []string{"c*"}, Paths: w.in("out/sub")}}, nil, []string{"out/sub b read, write, delete"}},
	} {
		c := w.compile(Policy{Sandbox: w.path(e.sandbox), Rules: e.rules})
		var got []string
		for _, d := range c.Directories("child", e.grants) {
			got = append(got, w.name(d.Path)+" "+d.Name+" "+d.Roles.String())
		}
		if !slices.Equal(got, e.want) {
			t.Errorf("%s: %q, want %q", e.name, got, e.want)
		}
	}
}

// TestWhatAPolicyTells: what others ask of a policy beside decisions.
func TestWhatAPolicyTells(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.compile(Policy{Sandbox: w.path("box"), Rules: []Rule{
		{Name: "deny", Then: Deny, Paths: w.in("out/sub")}, {Name: "deny too", Then: Deny, Paths: w.in("out/sub", access.Read)},
		{Name: "other", Then: Deny, Servers: []string{"other"}, Paths: w.in("outer")}, {Name: "all", Then: Deny, Paths: &PathRule{Outside: true}},
		{Name: "allow", Then: Allow, Paths: w.in("project/src")}, {Name: "ask", Then: Escalate, Servers: []string{"c*"}, Paths: w.in("project/docs")},
		{Name: "later", Then: Allow, Servers: []string{"other"}, Paths: w.in("none")}, {Name: "any", Then: Allow, Servers: []string{"c*"}},
	}})
	if got := c.DeniedDirs("child"); !slices.Equal(got, []string{w.path("out/sub")}) {
		t.Errorf("denied %q", got)
	}
	if got := c.DeniedDirs("other"); !slices.Equal(got, []string{w.path("out/sub"), w.path("outer")}) {
		t.Errorf("denied to the other %q", got)
	}
	got := c.WritableDirs()
	slices.Sort(got)
	if want := []string{w.path("box"), w.path("none"), w.path("project/docs"), w.path("project/src")}; !slices.Equal(got, want) {
		t.Errorf("writable %q, want %q", got, want)
	}
	if c.UnlimitedRule("child") != "any" || c.UnlimitedRule("other") != "" || c.EscalatingRule("child") != "ask" || c.EscalatingRule("other") != "" {
		t.Errorf("first rules %q %q", c.UnlimitedRule("child"), c.EscalatingRule("child"))
	}
	for p, want := range map[string]string{
		"box/x": "box", "project/src/main.go": "project/src", "project/docs": "project/docs", "out/sub/x": "", "project/a.txt": "", "outer/x": "", "project/loop": "",
		"project/src/../a.txt": "", "project/link/../project/src/x": "project/src",
	} {
		if got := c.OpenedDir(w.path(p)); got != w.path(want) {
			t.Errorf("%s is opened by %q, want %q", p, got, want)
		}
	}
	for dir, want := range map[string]bool{"project/src": true, "project/docs": true, "out/sub": false, "out": true, "outer": false} {
		if got := c.Serves(w.path(dir), []Grant{{Path: w.path("out")}, {Path: w.path("outer"), File: true}}); got != want {
			t.Errorf("%s is served: %v", dir, got)
		}
	}
	info, ok := c.Info()
	if !ok || info.Sandbox != w.path("box") || len(info.Rules) != 8 || info.Rules[0].Dir != w.path("out/sub") || !info.Rules[0].Found || info.Rules[6].Found || info.Rules[7].Dir != "" {
		t.Errorf("info %+v", info)
	}
	var none *Compiled
	if _, ok := none.Info(); ok || none.Directories("child", nil) != nil || none.DeniedDirs("child") != nil || none.WritableDirs() != nil || none.UnlimitedRule("child") != "" ||
		none.OpenedDir("/") != "" || none.Serves("/", nil) || none.ForSome() || none.DeniesChild("child") || none.Ruling("child", "x") != nil || none.For(principal.User()) != nil {
		t.Error("no policy says something")
	}
	if got := none.Directories("child", []Grant{{Path: "/x", Roles: AnyRole}}); len(got) != 1 {
		t.Errorf("a grant without a policy: %v", got)
	}
	bare := w.compile(Policy{Rules: []Rule{{Then: Allow, Paths: w.in("out")}}})
	if rule, dir := bare.UnlimitedRule("x"), bare.OpenedDir(w.path("out/new")); rule != "" || dir != w.path("out") {
		t.Errorf("of the first directory: %q is unlimited, %q is opened", rule, dir)
	}
	if info, ok := bare.Info(); !ok || info.Sandbox != "" || bare.OpenedDir(w.path("box")) != "" || len(bare.WritableDirs()) != 1 || len(bare.Directories("x", nil)) != 1 {
		t.Errorf("without a sandbox: %+v", info)
	}
	for text, r := range map[string]Rule{
		"every call":                              {},
		"every use of paths":                      {Paths: &PathRule{}},
		"read, delete of paths within /x":         {Paths: &PathRule{Roles: []access.Role{access.Delete, access.Read}, Within: "/x"}},
		"every use of paths outside the boundary": {Paths: &PathRule{Outside: true}},
		"every call for a, b for groups g by servers s by tools t, u": {People: People{[]string{"a", "b"}, []string{"g"}}, Servers: []string{"s"}, Tools: []string{"t", "u"}},
	} {
		if got := (&RuleInfo{Rule: r}).Condition(); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}

// TestRoleSets: a set holds only roles that a path can have, and what is no decision denies.
func TestRoleSets(t *testing.T) {
	t.Parallel()
	all := []access.Role{access.Read, access.Write, access.Delete}
	if got := Roles(access.None); got != 0 || got.String() != "" || got.Has(access.None) || AnyRole.Has(access.None) || RoleSet(255).Has(access.None) {
		t.Errorf("none: %v", got)
	}
	if Roles(all...) != AnyRole || !slices.Equal(AnyRole.List(), all) || AnyRole.String() != "read, write, delete" {
		t.Errorf("all: %v", Roles(all...))
	}
	for _, r := range all {
		for _, other := range all {
			if Roles(r).Has(other) != (r == other) {
				t.Errorf("%v has %v", r, other)
			}
		}
	}
	for d, want := range map[Decision]string{Deny: "deny", Escalate: "escalate", Allow: "allow", Allow + 1: "deny"} {
		if d.String() != want {
			t.Errorf("%d: %s", d, d)
		}
	}
	if Deny != 0 || !(Deny < Escalate && Escalate < Allow) {
		t.Error("the zero value does not deny, or the stricter one is not the smaller")
	}
}

// TestNamesAreComparedAsNames: names are compared as names and not as paths; a pattern that cannot be read matches nothing.
func TestNamesAreComparedAsNames(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		patterns []string
		name     string
		want     bool
	}{
		{nil, "x", true}, {[]string{"x"}, "x", true}, {[]string{"x"}, "X", false}, {[]string{"x"}, "xy", false}, {[]string{"fs*"}, "fs/delete", true}, {[]string{"fs/*"}, "fs/a/b", true},
		{[]string{"y", "?"}, "x", true}, {[]string{"[a"}, "[a", false}, {[]string{`do_\*`}, "do_it", false}, {[]string{`do_\*`}, "do_*", true}, {[]string{"{a,b}"}, "b", true}, {[]string{"[!d]*"}, "do", false},
	} {
		if got := matchesName(e.patterns, e.name); got != e.want {
			t.Errorf("%q %q: %v", e.patterns, e.name, got)
		}
		if got := (&Rule{Servers: e.patterns}).About(e.name, "t"); got != e.want {
			t.Errorf("servers %q %q: %v", e.patterns, e.name, got)
		}
		if got := (&Rule{Tools: e.patterns}).About("s", e.name); got != e.want {
			t.Errorf("tools %q %q: %v", e.patterns, e.name, got)
		}
		if got := (&People{Principals: e.patterns}).Names(e.name); got != e.want {
			t.Errorf("people %q %q: %v", e.patterns, e.name, got)
		}
	}
	if (&Rule{Servers: []string{"a"}, Tools: []string{"b"}}).About("a", "x") || (&Rule{Servers: []string{"a"}, Tools: []string{"b"}}).About("x", "b") {
		t.Error("one of both suffices")
	}
	if (&People{}).Named() || !(&People{Principals: []string{"x"}}).Named() || !(&People{Groups: []string{"x"}}).Named() {
		t.Error("named")
	}
}
