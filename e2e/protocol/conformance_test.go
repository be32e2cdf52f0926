package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// The official conformance suite, directly against a fixture of both eras and through the hub: whatever passes there passes
// here, but for the exceptions, which conformance_list_test.go names with their reasons. One that passes after all is an error too, so that
// the list can only shrink.
//
// Each scenario for a client needs a Node and a login of its own. So each run tries it for the newest revision that has it, and the
// long series for each.
func TestConformance(t *testing.T) {
	t.Parallel()
	n := requireSuite(t)
	required := requiredOfLegs(n, t)
	t.Run("legs", func(t *testing.T) {
		for _, l := range legs {
			// One after the other: the suite waits a short time for what it wants to see.
			t.Run(l.role+" "+l.revision, func(t *testing.T) {
				if l.role == "server" {
					l.judgeServer(t, n, required[l.title()])
					return
				}
				scenarios := required[l.title()]
				if newest := legs[len(legs)-1]; !world.Long {
					scenarios = shortForm(scenarios, required[newest.title()], l.title() == newest.title())
					l.through = l.exceptionsFor(scenarios)
				}
				l.judgeClient(t, n, scenarios)
			})
		}
	})
	if t.Failed() {
		return
	}
	if *world.Update {
		world.Must(t, os.WriteFile(world.Source("docs", "conformance.md"), []byte(table(legs, required)), 0o600))
	}
	checkPage(t, required)
}

// shortForm returns the scenarios of a client's leg that the short form runs, because the suite takes two seconds of a processor to start for each:
// every third one of the newest leg, and of the others the ones that the newest leg does not have.
func shortForm(scenarios, newest []string, isNewest bool) (short []string) {
	for i, scenario := range scenarios {
		if isNewest && i%3 == 0 || !isNewest && !slices.Contains(newest, scenario) {
			short = append(short, scenario)
		}
	}
	return short
}

// checkPage compares docs/conformance.md with what the lists of scenarios and exceptions give.
func checkPage(t *testing.T, required map[string][]string) {
	t.Helper()
	have, err := os.ReadFile(world.Source("docs", "conformance.md"))
	world.Must(t, err)
	if diff := cmp.Diff(string(have), table(legs, required)); diff != "" {
		t.Errorf("docs/conformance.md is out of date, run go test ./e2e/protocol -run TestConformance -update:\n%s", diff)
	}
}

// requireSuite skips a test if there is no Node that runs the suite; in CI it fails.
func requireSuite(t *testing.T) world.Node {
	n := world.RequireNode(t)
	if major := n.Major(t); major < 22 {
		needs.Missing(t, "the conformance suite wants Node 22, this is ", major)
	}
	return n
}

// requiredOfLegs returns the scenarios of each leg, by its title.
func requiredOfLegs(n world.Node, t testing.TB) map[string][]string {
	required := map[string][]string{}
	for _, l := range legs {
		if required[l.title()] = l.scenarios; l.scenarios == nil {
			required[l.title()] = requiredOf(n, t, l.revision, l.role)
		}
	}
	return required
}

// TestConformanceNamesEveryScenario: what the suite lists stands in a table of docs/conformance.md, and nothing else does. A release with
// a scenario that is new fails here until a leg runs it, or besides says why none does.
func TestConformanceNamesEveryScenario(t *testing.T) {
	t.Parallel()
	n := requireSuite(t)
	cmd := exec.CommandContext(t.Context(), n.Program, n.Script("conformance"), "list")
	said, err := cmd.Output()
	world.Must(t, err)
	suite := scenariosOf(string(said))
	for _, role := range roles {
		if want := 2; len(suite[role]) < want {
			t.Fatalf("the suite lists %d scenarios for the role %q, fewer than %d:\n%s", len(suite[role]), role, want, said)
		}
	}
	required := requiredOfLegs(n, t)
	for _, complaint := range unnamed(suite, required, besides) {
		t.Error(complaint)
	}
	checkPage(t, required)
}

// scenariosOf reads the suite's list, by role.
func scenariosOf(list string) map[string][]string {
	all := map[string][]string{}
	role := ""
	for line := range strings.Lines(list) {
		if before, _, ok := strings.Cut(line, " scenarios (test against"); ok {
			role = strings.ToLower(before)
		} else if name, ok := strings.CutPrefix(line, "  - "); ok {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			all[role] = append(all[role], name)
		}
	}
	return all
}

// unnamed compares the scenarios of the suite with the ones that legs run and the ones that are beside them.
func unnamed(suite, required map[string][]string, besides map[string][]exception) (complaints []string) {
	named := map[string]bool{} // by role and scenario
	for _, l := range legs {
		for _, scenario := range required[l.title()] {
			named[l.role+" "+scenario] = true
		}
	}
	for role, exceptions := range besides {
		for _, e := range exceptions {
			for _, scenario := range e.what {
				switch {
				case named[role+" "+scenario]:
					complaints = append(complaints, scenario+" is run by a leg: take it off the list besides in conformance_list_test.go")
				case e.why == "":
					complaints = append(complaints, scenario+" has no reason")
				}
				named[role+" "+scenario] = true
			}
		}
	}
	for role, scenarios := range suite {
		for _, scenario := range scenarios {
			if !named[role+" "+scenario] {
				complaints = append(complaints, scenario+" (for a "+role+") is new: have a leg run it, or say in conformance_list_test.go why none does")
			}
			delete(named, role+" "+scenario)
		}
	}
	for what := range named {
		complaints = append(complaints, what+" is no scenario of the suite")
	}
	slices.Sort(complaints)
	return complaints
}

func TestANewScenarioIsSeen(t *testing.T) {
	t.Parallel()
	list := scenariosOf("Server scenarios (test against a server):\n  - a [2025-11-25]\n  - b [extension]\n\nClient scenarios (test against a client):\n  - a [extension]\n  - c\n")
	if want := map[string][]string{"server": {"a", "b"}, "client": {"a", "c"}}; !maps.EqualFunc(list, want, slices.Equal) {
		t.Fatalf("%q", list)
	}
	required := map[string][]string{legs[0].title(): {"a"}} // of a server
	beside := map[string][]exception{"client": {{[]string{"a", "gone"}, "why"}}}
	want := []string{
		"b (for a server) is new: have a leg run it, or say in conformance_list_test.go why none does",
		"c (for a client) is new: have a leg run it, or say in conformance_list_test.go why none does", "client gone is no scenario of the suite",
	}
	if got := unnamed(list, required, beside); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// poll is shorter than what the tool test_reconnection of the fixture takes, and longer than what then is left of it.
const poll = "2s"

func (l leg) judgeServer(t *testing.T, n world.Node, scenarios []string) {
	w := world.New(t)
	fixture := w.Listen("fixture", world.Bin.Fixture, "-http", "127.0.0.1:0", "-era", "apart")
	direct := suite(w, n, "server", "--requirements", l.revision, "--url", fixture)
	for _, complaint := range judge(scenarios, missed(nil, direct), l.direct) {
		t.Errorf("directly: %s", complaint)
	}
	for _, child := range []struct {
		transport string
		entry     obj
	}{
		{"stdio", obj{"command": world.Bin.Fixture, "args": []string{"-era", "apart"}, "prefix": ""}},
		{"http", obj{"url": fixture, "prefix": ""}},
	} {
		config := w.Write(child.transport+".json", world.Raw(t, obj{"mcpServers": obj{"fixture": child.entry}, "http": obj{"poll": poll}}))
		hub := w.Listen("hub-"+child.transport, world.Hub(t), "serve", "--http", "127.0.0.1:0", "--config", config)
		var complaints []string
		for range 2 { // the suite's own short waits fail now and then
			through := suite(w, n, "server", "--requirements", l.revision, "--url", bearing(w, hub, world.TokenOf(t, hub)))
			if complaints = judge(scenarios, missed(direct, through), l.through); len(complaints) == 0 {
				break
			}
			t.Logf("through the hub, the fixture on %s: %q", child.transport, complaints)
		}
		for _, complaint := range complaints {
			t.Errorf("through the hub, the fixture on %s: %s", child.transport, complaint)
		}
	}
	if l.revision != "2025-11-25" {
		return
	}
	// The control: in the other era than its client's the fixture has not what the suite looks for.
	config := w.Write("control.json", world.Raw(t, obj{"mcpServers": obj{"fixture": obj{"url": fixture, "prefix": "", "era": "modern"}}}))
	hub := w.Listen("hub-control", world.Hub(t), "serve", "--http", "127.0.0.1:0", "--config", config)
	for _, scenario := range []string{"tools-call-sampling", "resources-subscribe"} {
		if lost := missed(direct, suite(w, n, "server", "--scenario", scenario, "--url", bearing(w, hub, world.TokenOf(t, hub)))); len(lost) != 1 || len(lost[scenario]) == 0 {
			t.Errorf("control: a hub that speaks to the fixture in the newer era passes %s: %v", scenario, lost)
		}
	}
}

// exceptionsFor returns the exceptions of a client's leg that are for these scenarios.
func (l leg) exceptionsFor(scenarios []string) (left []exception) {
	for _, e := range l.through {
		what := slices.DeleteFunc(slices.Clone(e.what), func(what string) bool {
			scenario, _, _ := strings.Cut(what, ":")
			return !slices.Contains(scenarios, scenario)
		})
		left = append(left, exception{what, e.why})
	}
	return left
}

func (l leg) judgeClient(t *testing.T, n world.Node, scenarios []string) {
	script := world.Source("e2e", "clients", "suite.mjs")
	command := fmt.Sprintf("%q %q", n.Program, script)
	all := map[string]checks{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	free := make(chan struct{}, 4) // these scenarios wait half a minute for what they want to see, and mostly for Node
	for _, scenario := range scenarios {
		// Each in a home of its own: a login is kept for an address, and ports come again.
		w := world.New(t)
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			saw := suite(w, n, "client", "--spec-version", l.revision, "--force", "--scenario", scenario, "--command", command)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(all, saw)
		})
	}
	wg.Wait()
	for _, complaint := range judge(scenarios, missed(nil, all), l.through) {
		t.Errorf("the hub as a client: %s", complaint)
	}
}

// requiredOf gives the scenarios that a revision of the specification asks for, scored or not, as the suite's own file has them.
func requiredOf(n world.Node, t testing.TB, revision, role string) []string {
	t.Helper()
	file := filepath.Join(n.Modules, "@modelcontextprotocol", "conformance", "requirements", revision+".yaml")
	f, err := os.Open(file)
	world.Must(t, err)
	defer func() { _ = f.Close() }()
	var all []string
	section, scenario := "", ""
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case line == s.Text() && strings.HasSuffix(line, ":"):
			section = strings.TrimSuffix(line, ":")
		case strings.HasPrefix(line, "- scenario: "):
			scenario = strings.TrimPrefix(line, "- scenario: ")
		case line == "leg: "+role:
			all = append(all, scenario)
		case section == role && strings.HasPrefix(line, "- "):
			all = append(all, strings.TrimPrefix(line, "- "))
		}
	}
	if len(all) < 10 {
		t.Fatalf("%s names %d scenarios for a %s: %q", file, len(all), role, all)
	}
	return all
}

// checks is what one scenario came to: the worst status of each of its checks.
type checks map[string]string

var severity = []string{"SUCCESS", "INFO", "SKIPPED", "WARNING", "FAILURE"}

var resultDir = regexp.MustCompile(`^(.+)-\d{4}-\d\d-\d\dT[-\d]+Z$`)

// suite runs the suite and reads what it has written, by scenario. Its exit status says nothing more.
func suite(w *world.World, n world.Node, role string, args ...string) map[string]checks {
	w.T.Helper()
	out, err := os.MkdirTemp(w.Dir, "suite-")
	world.Must(w.T, err)
	ctx, cancel := context.WithTimeout(context.Background(), 8*world.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.Program, append([]string{n.Script("conformance"), role, "-o", out}, args...)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = w.Env("MCPHUB="+world.Hub(w.T)), w.Dir, time.Second
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		w.T.Errorf("the suite took too long: %v", err)
	}
	var complaints []string
	w.T.Cleanup(func() {
		if w.T.Failed() {
			w.T.Logf("conformance %s %q: %v\n%s\n%s", role, args, err, strings.Join(complaints, "\n"), said)
		}
	})
	files, err := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	world.Must(w.T, err)
	more, err := filepath.Glob(filepath.Join(out, "*", "*", "checks.json")) // of auth/...
	world.Must(w.T, err)
	all := map[string]checks{}
	for _, file := range append(files, more...) {
		dir, err := filepath.Rel(out, filepath.Dir(file))
		world.Must(w.T, err)
		name := resultDir.FindStringSubmatch(filepath.ToSlash(dir))
		if name == nil {
			w.T.Fatalf("what scenario is this: %s", file)
		}
		b, err := os.ReadFile(file)
		world.Must(w.T, err)
		var list []struct{ ID, Status, ErrorMessage string }
		world.Must(w.T, json.Unmarshal(b, &list))
		got := checks{}
		for _, c := range list {
			if !slices.Contains(severity, c.Status) {
				w.T.Errorf("%s: what status is %q", file, c.Status)
			}
			if slices.Index(severity, c.Status) >= slices.Index(severity, got[c.ID]) {
				got[c.ID] = c.Status
			}
			if c.ErrorMessage != "" {
				complaints = append(complaints, fmt.Sprintf("%s: %s %s: %s", name[1], c.ID, c.Status, c.ErrorMessage))
			}
		}
		scenario := name[1]
		if role == "server" {
			scenario = strings.TrimPrefix(scenario, "server-")
		}
		all[scenario] = got
	}
	return all
}

// missed gives the checks of each scenario that did not succeed: the ones that failed, and the ones that did succeed
// before. A scenario without any result has missed them all, which is "".
func missed(before, got map[string]checks) map[string][]string {
	all := map[string][]string{}
	for scenario, results := range got {
		ids := map[string]bool{}
		for id, status := range before[scenario] {
			if status == "SUCCESS" && results[id] != status {
				ids[id] = true
			}
		}
		for id, status := range results {
			// What fails without the hub, too, is no fault of the hub.
			if was := before[scenario][id]; (status == "FAILURE" || status == "WARNING") && was != "FAILURE" && was != "WARNING" {
				ids[id] = true
			}
		}
		all[scenario] = slices.Sorted(maps.Keys(ids))
	}
	return all
}

// judge holds what was missed against the exceptions, in both directions. An exception is for a scenario or for one check of
// it, "scenario:check".
func judge(scenarios []string, missed map[string][]string, exceptions []exception) []string {
	var complaints []string
	left := map[string]bool{}
	for _, e := range exceptions {
		for _, what := range e.what {
			if left[what] {
				complaints = append(complaints, what+" is excepted twice")
			}
			left[what] = true
		}
	}
	for _, scenario := range scenarios {
		ids, ran := missed[scenario]
		if !ran {
			ids = []string{"no result"}
		}
		if len(ids) > 0 && left[scenario] {
			delete(left, scenario)
			continue
		}
		for _, id := range ids {
			if what := scenario + ":" + id; left[what] {
				delete(left, what)
			} else {
				complaints = append(complaints, what+" should pass")
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(left)) {
		complaints = append(complaints, what+" passes now: take it off the list in conformance_list_test.go")
	}
	return complaints
}

func TestJudgeHoldsInBothDirections(t *testing.T) {
	t.Parallel()
	direct := map[string]checks{"a": {"x": "SUCCESS", "y": "SUCCESS"}, "b": {"x": "SUCCESS", "z": "FAILURE"}, "c": {"x": "SUCCESS"}}
	through := map[string]checks{"a": {"x": "SUCCESS", "y": "INFO"}, "b": {"x": "SUCCESS", "z": "FAILURE", "w": "WARNING"}}
	lost := missed(direct, through)
	for _, c := range []struct {
		exceptions []string
		want       []string
	}{
		{nil, []string{"a:y should pass", "b:w should pass", "c:no result should pass"}},
		{[]string{"a:y", "b", "c"}, nil},
		{[]string{"a", "a:x", "b", "c", "d"}, []string{
			"a:x passes now: take it off the list in conformance_list_test.go", "d passes now: take it off the list in conformance_list_test.go"}},
		{[]string{"a", "b", "b", "c"}, []string{"b is excepted twice"}},
	} {
		if diff := cmp.Diff(c.want, judge([]string{"a", "b", "c"}, lost, []exception{{what: c.exceptions}})); diff != "" {
			t.Errorf("%q: %s", c.exceptions, diff)
		}
	}
	if got := judge([]string{"b"}, missed(nil, direct), nil); !slices.Equal(got, []string{"b:z should pass"}) {
		t.Errorf("directly: %q", got)
	}
}

// bearing gives the address of a proxy that adds a token to each request.
func bearing(w *world.World, target, token string) string {
	w.T.Helper()
	to, err := url.Parse(target)
	world.Must(w.T, err)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.Path = to.Path
		r.Out.Host = r.In.Host // which the hub looks at too
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}}
	server := httptest.NewServer(world.WholeBody(proxy))
	w.T.Cleanup(server.Close)
	return server.URL
}
