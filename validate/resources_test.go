package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/policy"
)

// bound returns a Checker with prefixes of URIs.
func (w *world) bound(byClient bool, prefixes ...string) *Checker {
	w.t.Helper()
	c, err := NewChecker(Config{
		Children: []ChildConfig{
			{Name: "child", Command: "some-server"}, {Name: "off", Command: "x", Mode: declare.ModeOff, ModeSet: true}, {Name: "far", URL: "https://far.example/mcp"},
			{Name: "none", Command: "x", Args: map[string]map[string]declare.ArgRule{"*": {"/url": {Role: access.None}}}},
		},
		Protected: []string{w.hub}, Home: w.home, Getenv: w.getenv, Resources: prefixes, ClientResources: byClient,
	})
	w.must(err)
	return c
}

const uriTool = `{"name":"fetch","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"target":{"type":"string","format":"uri"},"list":{"type":"array","items":{"anyOf":[{"type":"string","format":"iri-reference"},{"type":"null"}]}}}}}`

// TestResourcesOutsideAreDenied: which values are held to the prefixes. The control is the same call without a prefix.
func TestResourcesOutsideAreDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	with, without := w.bound(false, "https://api.example.com/v1/"), w.bound(false, "note://notes/")
	for _, e := range []struct {
		args string
		want policy.Decision
	}{
		{`{"url":"https://api.example.com/v1/x"}`, policy.Allow},
		{`{"url":"https://evil.example/"}`, policy.Deny},
		{`{"baseURL":"https://evil.example/"}`, policy.Deny},
		{`{"imageurl":"https://evil.example/"}`, policy.Deny},
		{`{"webhook_endpoint":"https://evil.example/"}`, policy.Deny},
		{`{"href":"https://evil.example/"}`, policy.Deny},
		{`{"repo":"https://evil.example/x.git"}`, policy.Deny},
		{`{"urls":["https://api.example.com/v1/x","https://evil.example/"]}`, policy.Deny},
		{`{"urls":["https://api.example.com/v1/x","https://api.example.com/v1/y"]}`, policy.Allow},
		{`{"requests":[{"url":"https://evil.example/"}]}`, policy.Deny},
		{`{"links":{"next":"x","url":"https://evil.example/"}}`, policy.Deny},
		{`{"url":"{\"url\":\"https://evil.example/\"}"}`, policy.Deny},
		{`{"options":"{\"url\":\"https://evil.example/\"}"}`, policy.Deny},
		{`{"target":"https://evil.example/"}`, policy.Deny},
		{`{"list":[null,"https://evil.example/"]}`, policy.Deny},
		{`{"url":"\u0068ttps:\/\/evil.example"}`, policy.Deny},
		{`{"url":"https://api.example.com/v1/../x"}`, policy.Deny},
		{`{"url":"//evil.example/"}`, policy.Deny},
		{`{"url":"https://api.example.com/v1/x","path":"a.txt"}`, policy.Allow},
		{`{"url":"https://evil.example/","path":"a.txt"}`, policy.Deny},

		{`{"url":"http://evil.example/"}`, policy.Allow},
		{`{"url":"ftp://evil.example/"}`, policy.Allow},
		{`{"q":"https://evil.example/"}`, policy.Allow},
		{`{"text":"https://evil.example/"}`, policy.Allow},
		{`{"url":"see https://evil.example/ for more"}`, policy.Deny}, // a list, to some
		{`{"url":"page.html"}`, policy.Allow},
		{`{"url":7}`, policy.Allow},
		{`{"curlies":"https://evil.example/"}`, policy.Allow},
	} {
		_, v := w.call(with, w.tool(with, "", uriTool), e.args)
		if v.Decision != e.want {
			t.Errorf("%s: %v by %q, want %v", e.args, v.Decision, v.Rule, e.want)
		}
		if e.want == policy.Deny && (v.Deciding == nil || v.Deciding.Code != CodeOutsideResource || v.Deciding.How != detect.HowResource || v.Rule != RuleBoundary || !slices.Equal(v.Roots, []string{"https://api.example.com/v1/"})) {
			t.Errorf("%s: %+v", e.args, v)
		}
		if strings.Contains(e.args, `"//`) {
			continue // a path too
		}
		if _, v := w.call(without, w.tool(without, "", uriTool), e.args); v.Decision != policy.Allow {
			t.Errorf("%s: denied without a prefix: %+v", e.args, v.Deciding)
		}
	}
}

// A server's mode and declarations: URIs are held in strict and declared mode, and where an argument is declared to be
// no path; not if nothing is looked at.
func TestResourcesByMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.bound(false, "https://api.example.com/v1/")
	for child, want := range map[string]policy.Decision{"child": policy.Deny, "far": policy.Deny, "none": policy.Deny, "off": policy.Allow} {
		tool, err := c.PrepareTool(child, "", []byte(uriTool))
		w.must(err)
		if _, v := w.call(c, tool, `{"url":"https://evil.example/"}`); v.Decision != want {
			t.Errorf("%s: %v, want %v", child, v.Decision, want)
		}
	}
}

// The URIs of resources are held likewise; the variables of a template are judged as paths are.
func TestResourcesThatAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.bound(false, "https://api.example.com/v1/", "note://notes/")
	for uri, want := range map[string]policy.Decision{
		"https://api.example.com/v1/x": policy.Allow, "https://evil.example/": policy.Deny, "note://notes/1": policy.Allow, "note://other/1": policy.Deny, "note:1": policy.Deny,
		"test://x": policy.Allow, "http://evil.example/": policy.Allow, platform.Host().FormatURI(w.project + "/a.txt"): policy.Allow, platform.Host().FormatURI(w.outside + "/secret.txt"): policy.Deny,
	} {
		s, err := c.ScanURI("child", uri)
		w.must(err)
		if v := c.Judge(s, w.where(), w.view()); v.Decision != want {
			t.Errorf("%s: %v, want %v: %+v", uri, v.Decision, want, v.Deciding)
		}
	}
}

// A client's roots of other schemes bind and open where hub.json says so, and nothing if it does not.
func TestResourcesOfTheClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	snap := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginAsked, []rootsmgr.RootEntry{{URI: platform.Host().FormatURI(w.project)}, {URI: "https://client.example/x/"}, {URI: "note://mine"}, {URI: "urn:x"}})
	rootsView := rootsmgr.RootsView{Snapshot: snap, Case: rootsmgr.CaseKnown}
	for _, e := range []struct {
		byClient bool
		uri      string
		want     policy.Decision
		needs    bool
	}{
		{true, "https://client.example/x/1", policy.Allow, true},
		{true, "https://client.example/y", policy.Deny, true},
		{true, "https://api.example.com/v1/", policy.Allow, true},
		{true, "note://mine/1", policy.Allow, true},
		{true, "note://yours/1", policy.Deny, true},
		{true, "http://evil.example/", policy.Allow, true},
		{false, "https://client.example/x/1", policy.Deny, false},
		{false, "https://api.example.com/v1/", policy.Allow, false},
		{false, "note://yours/1", policy.Allow, false},
	} {
		c := w.bound(e.byClient, "https://api.example.com/v1/")
		s, err := c.Scan(w.tool(c, "", uriTool), fmt.Appendf(nil, `{"url":%q}`, e.uri))
		w.must(err)
		v := c.Judge(s, w.where(), rootsView)
		if v.Decision != e.want || s.NeedsBoundary() != e.needs {
			t.Errorf("%v %s: %v, needs %v, want %v: %+v", e.byClient, e.uri, v.Decision, s.NeedsBoundary(), e.want, v.Deciding)
		}
		if v.RootsMatter() != (e.want == policy.Deny && e.byClient) {
			t.Errorf("%v %s: other roots matter: %v", e.byClient, e.uri, v.RootsMatter())
		}
	}
	c := w.bound(true, "https://api.example.com/v1/")
	if got := c.Resources(rootsView); !slices.Equal(got, []string{"https://api.example.com/v1/", "https://client.example/x/", "note://mine/"}) {
		t.Errorf("in force: %q", got)
	}
	if got := w.bound(false).Resources(rootsView); got != nil {
		t.Errorf("in force without any: %q", got)
	}
}

// Rules of the policy are about paths and calls: none opens a URI, and those about calls hold beside it.
func TestResourcesAndRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, e := range []struct {
		name  string
		rules []policy.Rule
		args  string
		want  policy.Decision
		rule  string
	}{
		{"none", nil, `{"url":"https://api.example.com/v1/x"}`, policy.Allow, RuleInside},
		{"a call that is denied", []policy.Rule{{Name: "r", Then: policy.Deny}}, `{"url":"https://api.example.com/v1/x"}`, policy.Deny, "r"},
		{"a call that is asked about", []policy.Rule{{Name: "r", Then: policy.Escalate}}, `{"url":"https://api.example.com/v1/x"}`, policy.Escalate, "r"},
		{"nobody is asked in vain", []policy.Rule{{Name: "r", Then: policy.Escalate}}, `{"url":"https://evil.example/"}`, policy.Deny, RuleBoundary},
		{"a call that is allowed", []policy.Rule{{Name: "r", Then: policy.Allow}}, `{"url":"https://evil.example/"}`, policy.Deny, RuleBoundary},
		{"paths that are allowed", []policy.Rule{{Name: "r", Then: policy.Allow, Paths: &policy.PathRule{}}}, `{"url":"https://evil.example/"}`, policy.Deny, RuleBoundary},
		{"paths that are denied", []policy.Rule{{Name: "r", Then: policy.Deny, Paths: &policy.PathRule{}}}, `{"url":"https://api.example.com/v1/x"}`, policy.Allow, RuleInside},
		{"a path that is asked about", []policy.Rule{{Name: "r", Then: policy.Escalate, Paths: &policy.PathRule{Outside: true}}}, `{"url":"https://evil.example/","path":"{outside}/secret.txt"}`, policy.Deny, RuleBoundary},
	} {
		c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x"}}, Home: w.home, Getenv: w.getenv, Policy: policy.Policy{Rules: e.rules}, Resources: []string{"https://api.example.com/v1/"}})
		w.must(err)
		s, v := w.call(c, w.tool(c, "", uriTool), e.args)
		if v.Decision != e.want || v.Rule != e.rule || !s.NeedsJudge() {
			t.Errorf("%s: %v by %q, want %v by %q", e.name, v.Decision, v.Rule, e.want, e.rule)
		}
	}
	// If no boundary of directories is known, and everything may pass, this one holds.
	c := w.bound(false, "https://api.example.com/v1/")
	s, err := c.Scan(w.tool(c, "", uriTool), []byte(`{"url":"https://evil.example/"}`))
	w.must(err)
	if v := c.Judge(s, w.where(), rootsmgr.RootsView{Open: true, Case: rootsmgr.CaseUnsupported}); v.Decision != policy.Deny {
		t.Errorf("%v by %q", v.Decision, v.Rule)
	}
	if _, err := NewChecker(Config{Resources: []string{"https://ok.example/", "file:///x", "nothing"}}); err == nil || strings.Count(err.Error(), "is no prefix") != 2 {
		t.Errorf("bad prefixes: %v", err)
	}
}
