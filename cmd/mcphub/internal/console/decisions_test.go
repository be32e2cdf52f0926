package console

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/hub/audit"
)

// ended closes a log.
func ended(l *audit.Log) error {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return l.Run(ctx)
}

// record writes so many decisions, one of which is denied in every hundred.
func record(t testing.TB, dir string, many int) {
	t.Helper()
	l, err := audit.Open(audit.Options{Dir: dir, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range many {
		d := audit.DecisionFields{Child: "files", Tool: "read_text_file", Decision: "allow", Rule: "inside", RootsBasis: audit.RootsBasis{Roots: "client", Generation: 3}, Findings: []audit.Finding{{At: "/path", Role: "read", Path: "/home/u/project/file" + strconv.Itoa(i), Inside: true}}}
		if i%100 == 50 {
			d.Decision, d.Code, d.Rule, d.Findings[0] = "deny", "outside", "", audit.Finding{At: "/path", Role: "read", Path: "/etc/passwd" + strconv.Itoa(i)}
		}
		n, err := l.Put(audit.KindDecision, &audit.Record{Session: "0123456789", Principal: "local", Request: []byte(strconv.Itoa(i)), DecisionFields: d, Within: []string{"/home/u/project"}}, nil, began.Add(time.Duration(i)*time.Microsecond)) // a page ends between two times
		if err == nil && i%1000 == 0 {
			err = l.Commit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if d.Decision == "allow" {
			l.Outcome(audit.Outcome{DecisionLine: n, Result: audit.ResultOK, Micros: int64(i)})
		}
	}
	if err := ended(l); err != nil {
		t.Fatal(err)
	}
}

var (
	shownPath = regexp.MustCompile(`<span class="path">([^<]+)</span>`)
	nextField = regexp.MustCompile(`name="until" value="([^"]+)"`)
)

// A page answers within 200 ms however long the record is, for whatever is looked for, and its pages together show all.
func TestDecisionsOfALongRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	many := 100_000
	if raceDetector {
		many = 10_000
	}
	record(t, dir, many)
	s := testServer(fakes("plain", dir))
	session := begin(t, s)
	quickest := func(form url.Values) (body string, took time.Duration) {
		took = time.Hour
		form.Set("session", session.Get("session"))
		for range 5 { // the machine may be busy
			began := time.Now()
			body = ask(s, "POST", "/decisions", form, nil).Body.String()
			took = min(took, time.Since(began))
		}
		return body, took
	}
	most := bounds.Of(200 * time.Millisecond)
	for name, form := range map[string]url.Values{
		"the newest":           {},
		"what was denied":      {"decision": {"refused"}},
		"a path of the oldest": {"path": {"/etc/passwd50"}},
		"what there is not":    {"server": {"nobody"}},
		"far back":             {"until": {time.Now().Add(-time.Second).Format(time.RFC3339Nano)}},
	} {
		_, took := quickest(form)
		t.Logf("%s: %v", name, took)
		if took > most {
			t.Errorf("%s takes %v", name, took)
		}
	}

	body, _ := quickest(url.Values{"patient": {"yes"}}) // the record may take longer under the race detector
	if got := shownPath.FindAllStringSubmatch(body, -1); len(got) != pageSize || got[0][1] != fmt.Sprintf("/home/u/project/file%d", many-1) {
		t.Fatalf("the newest page has %d decisions: %q", len(got), got)
	}
	for _, part := range []string{fmt.Sprintf("ok in %v", time.Duration(many-1)*time.Microsecond), "inside the boundary", "from client, change 3", "by inside"} {
		if !strings.Contains(body, part) {
			t.Errorf("the newest page does not say %q", part)
		}
	}

	// All that was denied, page by page.
	seen := map[string]bool{}
	form := url.Values{"decision": {"refused"}}
	for pages := 0; ; pages++ {
		if pages > 200 {
			t.Fatal("the pages do not end")
		}
		form.Set("session", session.Get("session"))
		body := ask(s, "POST", "/decisions", form, nil).Body.String()
		for _, m := range shownPath.FindAllStringSubmatch(body, -1) {
			if seen[m[1]] {
				t.Fatalf("%s is shown twice", m[1])
			}
			seen[m[1]] = true
		}
		next := nextField.FindStringSubmatch(body)
		if next == nil {
			break
		}
		form.Set("until", strings.ReplaceAll(next[1], "&#43;", "+"))
		form.Set("patient", "yes")
	}
	if len(seen) != many/100 {
		t.Errorf("%d were denied, and %d are shown", many/100, len(seen))
	}
}

func TestDecisionsAreExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record(t, dir, 100)
	s := testServer(fakes("MENDED", dir))
	session := begin(t, s)
	find := func(form url.Values) string {
		form.Set("session", session.Get("session"))
		form.Set("patient", "yes")
		return ask(s, "POST", "/decisions", form, nil).Body.String()
	}
	denied := find(url.Values{"decision": {"deny"}})
	for _, part := range []string{"<code>/etc/passwd50</code>: outside the boundary; at /path", "code outside", "in scope", "/home/u/project<br>", "what changes it", `<code class="command">MENDED</code>`} {
		if !strings.Contains(denied, part) {
			t.Errorf("a denial does not say %q:\n%s", part, denied)
		}
	}
	if n := len(shownPath.FindAllString(denied, -1)); n != 1 {
		t.Errorf("%d decisions are denied", n)
	}
	for want, form := range map[int]url.Values{
		1:  {"path": {"file77"}},
		0:  {"path": {"nowhere"}},
		50: {"server": {"files"}, "tool": {"read_text_file"}, "decision": {"allow"}, "in": {"0123"}, "principal": {"local"}},
	} {
		if n := len(shownPath.FindAllString(find(form), -1)); n != want {
			t.Errorf("%v finds %d, want %d", form, n, want)
		}
	}
	if got := find(url.Values{"in": {"other"}}); !strings.Contains(got, "Nothing in the record is like that") {
		t.Error(got)
	}
}
