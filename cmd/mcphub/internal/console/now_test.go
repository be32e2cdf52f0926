package console

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/hub/approval"
	"mcphub/hub/status"
)

// However much runs, a page is small, shows first what needs a person, and finds the rest.
func TestManyServersAndSessions(t *testing.T) {
	t.Parallel()
	cfg := fakes("x", "")
	since := time.Now()
	cfg.Hubs = func(context.Context) (all []admin.Report, _ []string) {
		for pid := 1; pid <= 2; pid++ {
			r := admin.Report{PID: pid, Socket: fmt.Sprint(pid)}
			for i := range 100 {
				c := status.Child{Server: fmt.Sprintf("server-%d-%03d", pid, i), State: "ready", Since: &since}
				c.Command, c.Args, c.Stderr = "program", []string{strings.Repeat("argument ", 50)}, strings.Repeat("line\n", 200)
				if i == 91 {
					c.NotOffered, c.Mended = []status.Omission{{Tool: "broken", Reason: "its member /name is missing"}}, []status.Omission{{Tool: "old", Reason: "title is left out: it is null"}}
				}
				if i == 90 {
					c.Error = "it broke"
				}
				r.Children = append(r.Children, c)
			}
			for i := range 1000 {
				s := status.Session{ID: fmt.Sprintf("session-%d-%03d", pid, i), Client: "client", Since: since}
				s.Roots = []string{strings.Repeat("/folder", 20)}
				if i == 900 {
					s.Report.Questions = []approval.QuestionReport{{}}
				}
				r.Sessions = append(r.Sessions, s)
			}
			all = append(all, r)
		}
		return all, nil
	}
	cfg.Questions = func(context.Context) (all []Question, _ []string) {
		for i := range 1000 {
			all = append(all, Question{Title: fmt.Sprintf("question %d", i), Text: "text", Command: "mcphub approve"})
		}
		return all, nil
	}
	s := testServer(cfg)
	form := begin(t, s)
	has := func(body string, wanted map[string]int) {
		t.Helper()
		if len(body) > 300_000 {
			t.Errorf("a page of %d bytes", len(body))
		}
		for part, want := range wanted {
			if n := strings.Count(body, part); n != want {
				t.Errorf("%q stands there %d times, want %d", part, n, want)
			}
		}
	}
	page := func(at, holds string) string {
		return ask(s, "POST", at, url.Values{"session": form["session"], "holds": {holds}}, nil).Body.String()
	}
	has(page("/now", ""), map[string]int{
		"<details": 2 * maxRows, "75 servers are not shown.": 2, "975 sessions are not shown.": 2, "Restart server-1-090<": 1, "Restart server-2-090<": 1, "Restart server-1-000<": 1, "Restart server-1-099<": 0,
		`value="session-1-900"`: 1, `value="session-2-900"`: 1, `value="session-1-800"`: 0, `name="holds"`: 1,
	})
	has(page("/now", "session-2-80"), map[string]int{"<details": 10, "100 servers are not shown.": 2, `value="session-2-800"`: 1, "990 sessions are not shown.": 1, "1000 sessions are not shown.": 1, `name="holds" value="session-2-80"`: 1})
	has(page("/now", "server-1-091"), map[string]int{"<dd class=\"bad\">broken: its member /name is missing</dd>": 1, "<dd>old: title is left out: it is null</dd>": 1})
	has(page("/now", "server-1-099"), map[string]int{"<details": 1, "99 servers are not shown.": 1})
	has(page("/questions", ""), map[string]int{"<h3>question ": maxRows, "950 more wait": 1, "<h3>question 0<": 1})

	// The control: a few are shown in their order, with no word of others.
	few := testServer(fakes("x", ""))
	form = begin(t, few)
	has(ask(few, "POST", "/now", form, nil).Body.String(), map[string]int{"<details": 2, "not shown": 0, `name="holds"`: 0})
}
