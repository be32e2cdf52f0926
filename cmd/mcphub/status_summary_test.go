package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/hub/status"
)

// TestManySessionsAreSummed: of many sessions status shows sums, and as many lines for 5,000 as for 500; each is shown if they are picked.
func TestManySessionsAreSummed(t *testing.T) {
	t.Parallel()
	report := func(n int) admin.Report {
		r := admin.Report{PID: 7}
		for i := range n {
			id := fmt.Sprintf("%08d-0000", i)
			r.Sessions = append(r.Sessions, status.Session{ID: id, Principal: fmt.Sprintf("p%d", i%100), Client: "editor 1", Passed: 2, Calls: i % 2})
			c := status.Child{Server: "files", Instance: id, State: "ready", PID: 1000 + i}
			if c.Restarts = i % 2; i%10 == 0 {
				c.Error = "crash loop"
			}
			r.Children = append(r.Children, c)
		}
		r.Children = append(r.Children, status.Child{Server: "shared", State: "ready"})
		return r
	}
	show := func(n int, only sessionFilter) string {
		r := report(n)
		only.narrow(&r)
		var b bytes.Buffer
		statusReport{Hubs: []admin.Report{r}, each: only.isSet()}.showStatus(&b, noon, false)
		return b.String()
	}
	few, many := show(500, sessionFilter{}), show(5000, sessionFilter{})
	for _, want := range []string{"500 sessions (", "p1 5 10 (5 now)", "editor 1 500 1000 (250 now)", "files 500 500 50 250", "and 80 more"} {
		if !strings.Contains(strings.Join(strings.Fields(few), " "), want) {
			t.Errorf("no %q in\n%s", want, few)
		}
	}
	if lines := strings.Count(many, "\n"); lines != strings.Count(few, "\n") || lines > 100 {
		t.Errorf("%d lines for 5,000 sessions, %d for 500", lines, strings.Count(few, "\n"))
	}
	for want, only := range map[string]sessionFilter{"00000007": {session: "00000007"}, "00000107": {principal: "p7"}, "00000179": {principal: "p7?"}} {
		got := show(500, only)
		if !strings.Contains(got, "\n"+want) || strings.Contains(got, "00000008") || !strings.Contains(got, "shared") || strings.Contains(got, "sessions (") {
			t.Errorf("%+v:\n%s", only, got)
		}
	}
}
