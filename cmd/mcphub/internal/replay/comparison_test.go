package replay

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/seeds"
	"mcphub/hub/audit"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// record fills a folder with n decisions, as hubs write them: half of them one a
// line, with a path, and half several a line.
func record(t testing.TB, dir string, n int) {
	t.Helper()
	log, err := audit.Open(audit.Options{Dir: dir, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- log.Run(ctx) }()
	start := time.Now()
	for i := 0; i < n; {
		r := audit.Record{
			Session: "6f3c1f0e-0000-4000-8000-00000000000" + strconv.Itoa(i%10), Request: []byte(strconv.Itoa(i)),
			DecisionFields: audit.DecisionFields{
				Child: []string{"files", "git"}[i%2],
				Tool:  []string{"read_file", "write_file", "delete_file"}[i%3], Decision: "allow", Rule: validate.RuleInside,
				Findings:   []audit.Finding{{At: "/path", Role: []string{"read", "write"}[i%2], Path: fmt.Sprintf("/home/user/project/src/%d/file.go", i%1000), Inside: true}},
				RootsBasis: audit.RootsBasis{Roots: "asked", Generation: 1},
			},
			Arguments: []byte(`{"path":"src/file.go","content":"some text"}`),
		}
		if _, err := log.Put(audit.KindDecision, &r, nil, start); err != nil {
			t.Fatal(err)
		}
		i++
		if i%64 == 0 {
			if err := log.Commit(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := log.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A million recorded decisions are replayed in five seconds if nothing else runs.
// MCPHUB_LONG_CASES says how many instead of some thousand.
func TestReplayOfManyDecisions(t *testing.T) {
	n := seeds.Cases(t, 3000)
	dir := t.TempDir()
	record(t, dir, n)
	was := policy.Info{}
	now := policy.Info{Rules: []policy.RuleInfo{
		{Rule: policy.Rule{Name: "ask", Then: policy.Escalate, Servers: []string{"never"}}},
		{Rule: policy.Rule{Name: "no deleting", Then: policy.Deny, Tools: []string{"delete_*"}, Paths: &policy.PathRule{}}},
	}}
	start, used := time.Now(), cpuTime()
	got, err := (&Comparison{Was: &was, Now: &now, Served: func(child, _ string) bool { return child == "files" || child == "git" }}).Run(dir, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	took, used := time.Since(start), cpuTime()-used
	t.Logf("%d decisions in %s, with %s of the processors", got.Judged, took, used)
	if got.Judged != n || got.Changed != n/3 || len(got.Groups) != 2 {
		t.Errorf("%+v, want %d of %d changed", got, n/3, n)
	}
	// Other programs may want the processors too: so what counts is what was computed.
	if used > bounds.Of(time.Duration(n)*5*time.Microsecond*time.Duration(runtime.GOMAXPROCS(0))) {
		t.Errorf("%d decisions took %s of %d processors", n, used, runtime.GOMAXPROCS(0))
	}
}

// Comparison counts what the other configuration changes, and nothing else.
func TestComparison(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record(t, dir, 60)
	deny := policy.Info{Rules: []policy.RuleInfo{{Rule: policy.Rule{Name: "never", Then: policy.Deny, Servers: []string{"git"}, Paths: &policy.PathRule{}}}}}
	for name, c := range map[string]struct {
		c       Comparison
		changed int
		by      string
	}{
		"nothing":          {Comparison{Was: &policy.Info{}, Now: &policy.Info{}}, 0, ""},
		"as recorded":      {Comparison{Now: &policy.Info{}}, 0, ""},
		"a rule":           {Comparison{Now: &deny}, 30, "never"},
		"the rule was in":  {Comparison{Was: &deny, Now: &deny}, 0, ""},
		"the rule goes":    {Comparison{Was: &deny, Now: &policy.Info{}}, 30, validate.RuleInside},
		"a server goes":    {Comparison{Now: &policy.Info{}, Served: func(child, _ string) bool { return child != "git" }}, 30, ByNotServed},
		"a tool goes":      {Comparison{Now: &policy.Info{}, Served: func(_, tool string) bool { return !strings.HasPrefix(tool, "read") }}, 20, ByNotServed},
		"nothing is later": {Comparison{Now: &deny}, 0, ""},
	} {
		since := time.Time{}
		if name == "nothing is later" {
			since = time.Now().Add(time.Hour)
		}
		got, err := c.c.Run(dir, since)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, g := range got.Groups {
			sum += g.Count
			if g.By != c.by || g.Example.Time.IsZero() || len(g.Example.Paths) != 1 {
				t.Errorf("%s: %+v", name, g)
			}
		}
		if got.Changed != c.changed || sum != c.changed || got.Unsure != 0 {
			t.Errorf("%s: %+v, want %d", name, got, c.changed)
		}
	}
}
