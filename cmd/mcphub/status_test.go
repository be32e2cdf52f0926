package main

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/hub"
	"mcphub/hub/status"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) *time.Time {
	t := noon.Add(-d)
	return &t
}

// shownStatus returns a hub with everything that can be wrong, as people see it.
func shownStatus(verbose bool) string {
	good := status.Child{Server: "files", Instance: "0123456789", Share: "session", Era: "handshake", State: "ready", Since: before(3*time.Hour + 2*time.Minute), PID: 4194304, Tools: 14, Stderr: "harmless"}
	good.Command, good.Args, good.Environment = "/bin/files", []string{"--x", "a b"}, []string{"HOME", "PATH"}
	good.ShareWhy = "the rule \x1b asks"
	good.RootsServed, good.RootsApplied = []string{"/a", "/b"}, true
	bad := status.Child{Server: "b\x1b[31mad", Instance: "abcdefghij", State: "backing off", Since: before(12 * time.Second), Error: "crash loop: exited with status 3", Stderr: "one\ntwo\nthree\nfour\nfive\nsix", Log: "/logs/bad.log"}
	bad.StartedBy, bad.Restarts, bad.Failures, bad.CircuitOpen, bad.NextStart = "call", 4, 5, true, before(-40*time.Second)
	bad.LastFailure, bad.FailedAt = "exited with status 3", before(12*time.Second)
	deaf := status.Child{Server: "a-name-that-is-far-too-long-for-a-column", Era: "modern", State: "ready", Since: before(time.Minute), Error: "it did not ask for the roots again"}
	deaf.RootsServed = []string{"/a"}
	never := status.Child{Server: "never", State: "configured"}
	session := status.Session{ID: "0123456789", Since: *before(30 * time.Hour), Client: "editor\u202e 1\n", Protocol: "2025-11-25", Calls: 2, Passed: 12345}
	session.RootsState, session.RootsOrigin, session.RootsCount, session.Generation, session.RootsError = "stale", "asked", 2, 3, "no answer"
	other := status.Session{ID: "abcdefghij", Since: noon}
	r := admin.Report{PID: 77, Version: "v1", Started: *before(50 * time.Hour),
		Config: admin.ConfigReport{Path: "/etc/hub.json", Loaded: *before(time.Hour), Error: "hub.json:3: no\nhub.json:4: nor\x1b", ErrorAt: before(5 * time.Second)},
		Hub:    status.Hub{Children: []status.Child{good, bad, deaf, never}, NotServed: []status.NotServed{{Server: "off", Reason: "disabled"}}, Sessions: []status.Session{session, other}}}
	var b bytes.Buffer
	statusReport{Hubs: []admin.Report{r}, Unreachable: []unreachableHub{{"/run/1.sock", "no\x07pe"}}}.showStatus(&b, noon, verbose)
	return b.String()
}

// TestStatusNamesDefinitions: what a server defines and clients do not get is named; what is mended, if more is asked for.
func TestStatusNamesDefinitions(t *testing.T) {
	t.Parallel()
	c := status.Child{Server: "kid", State: "ready"}
	for range maxProblems + 2 {
		c.NotOffered = append(c.NotOffered, status.Omission{Tool: "t", Reason: "its member /name is missing"})
	}
	c.Mended = []status.Omission{{Tool: "u", Reason: "description is left out: it is null"}}
	for verbose, want := range map[bool]string{false: strings.Repeat("  not offered  t: its member /name is missing\n", maxProblems) + "  not offered  and 2 more: mcphub status -v\n",
		true: strings.Repeat("  not offered  t: its member /name is missing\n", maxProblems+2) + "  mended       u: description is left out: it is null\n"} {
		var b bytes.Buffer
		statusReport{Hubs: []admin.Report{{Hub: status.Hub{Children: []status.Child{c}}}}}.showStatus(&b, noon, verbose)
		if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "mended") != verbose {
			t.Errorf("verbose %t:\n%s", verbose, &b)
		}
	}
}

// TestStatusNamesWhatWaits, and the command that answers it, whether a hub runs or not.
func TestStatusNamesWhatWaits(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	statusReport{Questions: []pendingQuestion{{"file:/a/hub.json", "/a/hub.json has changed\x1b[2J\nhub 7, up 1s"}, {"name /b", "/b led to /c"}}}.showStatus(&b, noon, false)
	want := "\nwaits for a person: /a/hub.json has changed\\x1b[2J\\nhub 7, up 1s: mcphub reload\n\nwaits for a person: /b led to /c: mcphub reload\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestStatusForPeople(t *testing.T) {
	t.Parallel()
	got := shownStatus(false)
	for _, want := range []string{
		`^hub 77, up 2d2h, version v1$`,
		`^/etc/hub\.json, read 1h0m ago$`,
		`^not read again since, 5s ago: hub\.json:3: no$`,
		`^  hub\.json:4: nor\\x1b$`,
		`^files +ready +3h2m +4194304 +0 +14 +2 +01234567$`,
		`^b\\x1b\[31mad +circuit open +12s +- +4 +0 +- +abcdefgh$`,
		`^a-name-that-is-far-too…? +ready, modern +1m +- +0 +0 +1! +all$`,
		`^never +configured +- `,
		`^b\\x1b\[31mad: crash loop: exited with status 3$`,
		`^  next start +with the next call, not before 40s; 5 failures in a row$`,
		`^  log +/logs/bad\.log$`,
		`^  \| two$`,
		`^off is not served: disabled$`,
		`^01234567 +editor\\u202e 1\\n +1d6h +2025-11-25 +2 stale +asked, #3 +12345 \(2 now\)$`,
		`^01234567: the client did not give its roots: no answer$`,
		`^no answer from /run/1\.sock: no\\ape$`,
	} {
		if !regexp.MustCompile("(?m)" + want).MatchString(got) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	for _, not := range []string{"| one", "harmless", "command", "PATH", "last failure"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is too much:\n%s", not, got)
		}
	}
	long := shownStatus(true)
	for _, want := range []string{"| one", "| harmless", "  era          handshake\n", "command      /bin/files --x a b", "environment  HOME PATH", "roots        /a /b", "last failure 12s ago: exited with status 3", "  share        session: the rule \\x1b asks\n"} {
		if !strings.Contains(long, want) {
			t.Errorf("%q is missing in\n%s", want, long)
		}
	}
	for _, text := range []string{got, long} {
		if strings.ContainsAny(text, "\x1b\x07\u202e\t") || !utf8.ValidString(text) {
			t.Errorf("it holds what a terminal obeys: %q", text)
		}
	}
	inTable := false
	for line := range strings.Lines(got) {
		inTable = strings.HasPrefix(line, "SERVER") || strings.HasPrefix(line, "SESSION") || inTable && line != "\n"
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); inTable && n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestStatusOutcome(t *testing.T) {
	t.Parallel()
	one, lost := []admin.Report{{}}, []unreachableHub{{"s", "e"}}
	for _, c := range []struct {
		found statusReport
		pid   int
		code  int
	}{
		{statusReport{Hubs: one}, 0, exit.OK}, {statusReport{}, 0, exit.NoHub}, {statusReport{}, 3, exit.NoHub}, {statusReport{Unreachable: lost}, 0, exit.Failure},
		{statusReport{Hubs: one, Unreachable: lost}, 0, exit.Failure},
	} {
		err := c.found.outcomeError(c.pid)
		var e *exit.Error
		if code := exit.OK; errors.As(err, &e) && e.Code != c.code || err == nil && code != c.code {
			t.Errorf("%+v: %v, want %d", c.found, err, c.code)
		}
	}
}

func TestNextStartIsOneTruth(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) *time.Time { t := noon.Add(d); return &t }
	for _, c := range []struct {
		by       string
		next     *time.Time
		failures int
		want     string
	}{
		{"call", at(40 * time.Second), 5, "with the next call, not before 40s; 5 failures in a row"},
		{"call", at(-time.Second), 5, "with the next call; 5 failures in a row"},
		{"call", nil, 1, "with the next call"},
		{"hub", at(3 * time.Second), 2, "in 3s; 2 failures in a row"},
		{"hub", at(0), 1, "now"},
	} {
		st := status.Child{}
		st.StartedBy, st.NextStart, st.Failures = c.by, c.next, c.failures
		if got := nextStart(st, noon); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestStatusShowsPolicy: how many rules, and which ones where more is asked for.
func TestStatusShowsPolicy(t *testing.T) {
	t.Parallel()
	r := &status.Policy{Sandbox: "/box", Rules: []status.Rule{{Name: "a\x1b[31m", Then: "deny", If: "every call", At: "/hub.json:3"}}}
	for verbose, want := range map[bool]string{false: "policy: 1 rules, sandbox /box\n", true: "deny every call  /hub.json:3"} {
		var out bytes.Buffer
		page{w: &out, verbose: verbose}.showPolicy(r)
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "\x1b") || verbose != (strings.Count(out.String(), "\n") == 2) {
			t.Errorf("verbose %t: %q", verbose, out.String())
		}
	}
}

// TestStatusShowsRefusals: a server that the kernel is known to have refused something is
// shown with that, and none of it acts on a terminal.
func TestStatusShowsRefusals(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "", 1: "refused      by the kernel, as far as what it says tells: 1 time, last /out/x", 3: "3 times, last /out/x"} {
		c := status.Child{Server: "kid", State: "ready"}
		if c.Refused = n; n > 0 {
			c.LastRefused, c.Mend = "/out/x\x1b[31m", &status.Mend{Named: "\x1b[31mnamed", Text: "open it", Run: []string{"allow", "kid", "/out/x\x1b[31m"}}
		}
		var out bytes.Buffer
		page{w: &out}.showDetails(c)
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "\x1b") || (n == 0) != (out.Len() == 0) || n > 0 && !strings.Contains(out.String(), `run          mcphub allow kid $'/out/x\033[31m'`) {
			t.Errorf("%d: %q", n, out.String())
		}
	}
}

// TestStatusOfSeveralHubs counts the servers that are well, and shows the others. One hub
// alone is shown in full.
func TestStatusOfSeveralHubs(t *testing.T) {
	t.Parallel()
	r := admin.Report{PID: 77}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		r.Children = append(r.Children, status.Child{Server: name, State: "ready", Tools: 2})
		r.Children[len(r.Children)-1].RootsApplied = true
	}
	r.Children[6].Error = "it did not ask"
	one, two, verbose := new(bytes.Buffer), new(bytes.Buffer), new(bytes.Buffer)
	statusReport{Hubs: []admin.Report{r}}.showStatus(one, noon, false)
	statusReport{Hubs: []admin.Report{r, r}}.showStatus(two, noon, false)
	statusReport{Hubs: []admin.Report{r, r}}.showStatus(verbose, noon, true)
	if got := two.String(); !strings.Contains(got, "6 servers are well, with 12 tools: a, b, c and 3 more (mcphub status --pid 77 shows each)\n") ||
		strings.Contains(got, "\na  ") || !strings.Contains(got, "\ng       ready") || !strings.Contains(got, "\ng: it did not ask\n") {
		t.Error(got)
	}
	for _, b := range []*bytes.Buffer{one, verbose} {
		if got := b.String(); strings.Contains(got, "are well") || !strings.Contains(got, "\na       ready") {
			t.Error(got)
		}
	}
}

// TestPlanIsShort: what many servers do is said once, and of many tools the first.
func TestPlanIsShort(t *testing.T) {
	t.Parallel()
	var plan admin.Plan
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		plan.Servers = append(plan.Servers, hub.PlannedServer{Server: name, Change: "stops", Processes: 2, Vanish: []string{name + "1", name + "2"}})
	}
	plan.Servers = append(plan.Servers, hub.PlannedServer{Server: "new", Change: "starts", Unknown: true}, hub.PlannedServer{Server: "other", Change: "starts", Appear: []string{"x"}})
	for _, change := range []string{"starts", "stays"} {
		plan.Servers = append(plan.Servers, hub.PlannedServer{Server: "shared-" + change, Change: change, Share: "roots", ShareWhy: "it keeps nothing"})
	}
	var out bytes.Buffer
	showPlan(&out, plan)
	if strings.Contains(out.String(), "shared-stays") {
		t.Errorf("what stays is told:\n%s", out.String())
	}
	for _, want := range []string{
		"  stops     a, b, c and 9 more; 24 processes end once their calls have\n", "  starts    new; its tools are known once it has started\n", "  starts    other, shared-starts\n",
		"  shared-starts has \"share\": \"roots\", because it keeps nothing\n",
		"  + tool x\n", "  - 2 tools: a1, a2\n", "  - 2 tools: j1, j2\n", "  - 4 tools more; --json names all\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
