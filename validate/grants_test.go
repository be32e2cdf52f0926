package validate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mcphub/internal/principal"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/policy"
)

// A grant holds under another policy only if that policy escalates or allows what it opens, and nothing protects it. What is not the same
// place any more, is too wide, or opens nothing, holds under none.
func TestGrantsUnderAnotherPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(w.outside, "sub")
	ask := policy.Rule{Then: policy.Escalate, Paths: within("{outside}")}
	opens := func(path string, roles ...access.Role) policy.Grant {
		return policy.Grant{Path: path, Roles: policy.Roles(roles...)}
	}
	read := opens(dir, access.Read)
	file := policy.Grant{Path: filepath.Join(w.outside, "secret.txt"), File: true, Roles: read.Roles}
	everywhere := policy.Rule{Then: policy.Escalate, Paths: &policy.PathRule{}}
	for name, tc := range map[string]struct {
		rules []policy.Rule
		grant policy.Grant
		want  bool
	}{
		"asked for":                {[]policy.Rule{ask}, read, true},
		"a file":                   {[]policy.Rule{ask}, file, true},
		"allowed by now":           {[]policy.Rule{{Then: policy.Allow, Paths: within("{outside}")}}, read, true},
		"denied by now":            {[]policy.Rule{{Then: policy.Deny, Paths: within("{outside}")}, ask}, read, false},
		"denied for one role":      {[]policy.Rule{{Then: policy.Deny, Paths: within("{outside}", access.Write)}, ask}, opens(dir, access.Read, access.Write), false},
		"denied for another role":  {[]policy.Rule{{Then: policy.Deny, Paths: within("{outside}", access.Write)}, ask}, read, true},
		"denied to another server": {[]policy.Rule{{Then: policy.Deny, Servers: []string{"other"}}, ask}, read, true},
		"no rule is about it":      {[]policy.Rule{{Then: policy.Escalate, Paths: within("{project}/docs")}}, read, false},
		"no rule at all":           {nil, read, false},
		"opens nothing":            {[]policy.Rule{ask}, opens(dir), false},
		"by a link":                {[]policy.Rule{ask}, opens(w.project+"/link/sub", access.Read), false},
		"what is protected":        {[]policy.Rule{everywhere}, policy.Grant{Path: w.hub, File: true, Roles: read.Roles}, false},
		"around what is protected": {[]policy.Rule{everywhere}, opens(filepath.Dir(w.hub), access.Read), false},
		"the home folder":          {[]policy.Rule{everywhere}, opens(w.home, access.Read), false},
	} {
		if got := w.rules("", tc.rules...).UpholdsGrant("child", "do_it", tc.grant); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (*Checker)(nil).UpholdsGrant("child", "do_it", read) {
		t.Error("a grant holds where nothing is judged")
	}
}

// What is too wide holds the home folder, something protected, or another path that is asked about.
func TestTooWide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	real := filepath.Join(w.home, "real")
	w.must(os.Mkdir(real, 0o755))
	w.must(os.Symlink(real, w.home+"/me"))
	cfg := w.config("")
	cfg.Home = w.home + "/me"
	c, err := NewChecker(cfg)
	w.must(err)
	for dir, want := range map[string]bool{
		"/": true, w.home: true, w.home + "/me": true, real: true, filepath.Dir(w.hub): true, w.hub: true,
		"outside": true, "": true, w.outside + "/..": true,
		w.outside: false, w.project: false, w.project + "/src/../docs": false,
	} {
		if got := c.IsTooWide(dir, nil); got != want {
			t.Errorf("%q: %t", dir, got)
		}
	}
	for other, want := range map[string]bool{w.outside: true, w.outside + "/sub/x": true, w.project: false} {
		if got := c.IsTooWide(w.outside, []string{other}); got != want {
			t.Errorf("it holds %s: %t", other, got)
		}
	}
	if !(*Checker)(nil).IsTooWide(w.outside, nil) {
		t.Error("nothing is known, and it is not too wide")
	}
}

// Where nothing is judged nothing is known, and what is closed is closed to all.
func TestWhatACheckerTells(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := w.config("", policy.Rule{Then: policy.Deny, Servers: []string{"child"}, Paths: within("{outside}")}, policy.Rule{Then: policy.Deny, Servers: []string{"other"}})
	cfg.Children = append(cfg.Children, ChildConfig{Name: "other", Command: "x"}, ChildConfig{Name: "unsearched", Command: "x", Mode: declare.ModeOff, ModeSet: true})
	c, err := NewChecker(cfg)
	w.must(err)
	var none *Checker
	for path, want := range map[string]bool{w.hub: true, w.hub + "/x": true, w.hub + "x": false, filepath.Dir(w.hub): false, w.outside: false} {
		if c.ProtectsPath(path) != want || none.ProtectsPath(path) {
			t.Errorf("%s: %t, and where nothing is judged %t", path, c.ProtectsPath(path), none.ProtectsPath(path))
		}
	}
	for child, want := range map[string]struct{ searched, denied, closed bool }{"child": {true, false, true}, "other": {true, true, false}, "unsearched": {}, "unknown": {}} {
		if c.SearchesChild(child) != want.searched || c.DeniesChild(child) != want.denied {
			t.Errorf("%s: searched %t, denied %t", child, c.SearchesChild(child), c.DeniesChild(child))
		}
		if list := c.ClosedPaths(child); !slices.Contains(list, w.hub) || slices.Contains(list, w.outside) != want.closed {
			t.Errorf("%s: closed are %v", child, list)
		}
		if none.SearchesChild(child) || none.DeniesChild(child) || none.RefusesTool(child, "do_it") || none.ClosedPaths(child) != nil {
			t.Errorf("%s: something is known where nothing is judged", child)
		}
	}
	if info, ok := c.Policy(); !ok || !slices.Contains(info.Protected, w.hub) {
		t.Errorf("%+v, %t", info, ok)
	}
	if _, ok := none.Policy(); ok || none.Rules() != nil || c.Rules() == nil {
		t.Error("a policy where nothing is judged")
	}
	if none.CheckOwnFolder(w.outside) == nil || none.ForPrincipal(principal.Principal{}) != nil || c.ForPrincipal(principal.Principal{}) != c {
		t.Error("what is the same for everybody is not")
	}
}

// The path of a request that the hub does not know is a URI, and every other text is searched as arguments are.
func TestParamsOfUnknownRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	for params, want := range map[string]policy.Decision{
		``: policy.Allow, `{}`: policy.Allow, `{"uri":"file://{project}/a.txt"}`: policy.Allow, `{"uri":""}`: policy.Allow,
		`{"uri":"file://{outside}/secret.txt"}`: policy.Deny, `{"path":"{outside}/secret.txt"}`: policy.Deny,
		`{"uri":"file://{project}/a.txt","path":"{outside}/secret.txt"}`: policy.Deny, `{"uri":"file://{outside}/secret.txt","path":"{project}/a.txt"}`: policy.Deny,
		`{"uri":"notes://x/a.txt"}`: policy.Allow, `{"uri":"notes://x/%2Fetc%2Fpasswd"}`: policy.Deny, // by the template
	} {
		s, err := c.ScanParams("child", "x/read", w.json(params), "notes://x/{name}")
		w.must(err)
		if v := c.Judge(s, w.where(), w.view()); v.Decision != want || len(v.Refused()) > 0 != (want != policy.Allow) {
			t.Errorf("%s: %v, %q refused", params, v.Decision, v.Refused())
		}
	}
	for _, params := range []string{`[]`, `{`, `{"uri":"a","uri":"b"}`} {
		if _, err := c.ScanParams("child", "x/read", []byte(params)); err == nil {
			t.Errorf("%s: it was searched", params)
		}
	}
	if _, err := c.ScanParams("unknown", "x/read", nil); err == nil {
		t.Error("of no server")
	}
}
