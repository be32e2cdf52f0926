package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/e2e/seeds"
	"mcphub/hub/approval"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/hub/status"
	"mcphub/internal/printable"
)

// obeyed are pieces that a terminal obeys, that turn the direction of text, or that make up a line.
var obeyed = []string{
	"\x1b[2J", "\x1b[31m", "\x1b[1A", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\", "\x1b]52;c;bHM=\x07", "\x1bP$q\x1b\\", "\x1b_x\x1b\\", "\x1b[?1049h", "\x1b[6n", "\x1bc",
	"\x9b31m", "\u009b31m", "\u0085", "\r", "\b\b\b", "\a", "\x00", "\x7f", "\v", "\f", "\x0e", "\n1 of 1, session 00000000", "\nType AAAA AAAA to allow the file", "\r\nIt is denied.",
	"\u202e", "\u2066", "\u2069", "\u200b", "\u2028", "\u2029", "\ufeff", "\u061c", "\U000e0041", "\xff", "\xc3", "\xed\xa0\x80", "plain", "ümläut", "日本",
}

// foreignShown returns the pages that stand on a terminal for as long as a person looks, with a text wherever someone else fills one
// in: status --watch, audit show -f and approve.
func foreignShown(text string, verbose bool) map[string]string {
	r := admin.Report{PID: 77, Version: text, Started: *before(time.Hour), Config: admin.ConfigReport{Path: text, Loaded: noon, Error: "no " + text, Waiting: text, Inside: text}}
	c := status.Child{Server: text, State: "ready", Since: before(time.Minute), Error: text, Stderr: "log " + text, Share: text, ShareWhy: text, Log: text}
	c.Command, c.Args, c.Cwd, c.LastFailure, c.FailedAt, c.RootsServed, c.Environment = text, []string{text}, text, text, before(time.Minute), []string{text}, []string{text}
	c.Closed, c.Refused, c.LastRefused, c.Mend = []string{text}, 1, text, &status.Mend{Text: text}
	c.NotOffered, c.Mended = []status.Omission{{Tool: text, Reason: text}}, []status.Omission{{Tool: text, Reason: text}}
	s := status.Session{ID: "0123456789", Since: noon, Client: text, Principal: text, Protocol: text}
	s.Folder, s.Roots, s.RootsError = text, []string{text}, text
	s.Questions = []approval.QuestionReport{{Server: text, What: text, Asked: text, Since: noon}}
	s.Grants = []approval.GrantReport{{URI: text, Server: text, Lifetime: "session", Since: noon}}
	r.Hub = status.Hub{Children: []status.Child{c}, Sessions: []status.Session{s}, NotServed: []status.NotServed{{Server: text, Reason: text}}}
	var watched, followed, asked bytes.Buffer
	statusReport{Hubs: []admin.Report{r}, Unreachable: []unreachableHub{{text, text}}, Questions: []pendingQuestion{{text, text}}}.showStatus(&watched, noon, verbose)

	d := trail.Decision{Outcome: &audit.Outcome{Result: text}}
	d.Time, d.Session, d.Principal, d.Child, d.Kind, d.Method, d.Decision = noon, "0123456789", text, text, audit.KindDecision, text, "deny"
	d.DecisionFields = audit.DecisionFields{Child: text, Tool: text, Decision: "deny", Rule: text, Code: text, By: text, Kernel: text, Findings: []audit.Finding{{At: text, Role: text, Path: text}},
		Granted: []audit.Granted{{File: text, Roles: text}}}
	d.ClientInfo = audit.ClientInfo{Name: text, Folder: text}
	show := auditPage{w: &followed}
	_ = show.printDecision(&d) // to a buffer

	w := waitingCall{Pending: approval.Pending{Session: text, Client: text, Folder: text, Token: text, Server: text, What: text, Text: strings.ReplaceAll(text, "\n", " "), Since: noon, Until: noon}}
	w.showQuestion(&asked, 1, 1)
	asked.WriteString(waysToAllow("AAAABBBB", []string{text, text}))
	return map[string]string{"status --watch": watched.String(), "audit show -f": followed.String(), "approve": asked.String()}
}

// A thousand texts that a terminal would obey stand where servers, clients, files and hubs fill in theirs: each is shown as escapes,
// and none makes a line more, but for errors and logs of several lines, which are moved in. The control is what these texts are.
func TestForeignTextAtATerminal(t *testing.T) {
	t.Parallel()
	acts := func(text string) string {
		for _, r := range text {
			if r != '\n' && printable.Hidden(r) {
				return string(r)
			}
		}
		if !utf8.ValidString(text) {
			return "no UTF-8"
		}
		return ""
	}
	outermost := func(text string) (n int) {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, " ") {
				n++
			}
		}
		return n
	}
	random := seeds.Rand(t)
	seen := 0
	for i := range 1000 {
		text := "x"
		for range 1 + random.IntN(4) {
			text += obeyed[random.IntN(len(obeyed))]
		}
		if acts(text) != "" || strings.Contains(text, "\n") {
			seen++
		}
		verbose := i%2 == 0
		plain := foreignShown("x", verbose)
		for what, shown := range foreignShown(text, verbose) {
			if bad := acts(shown); bad != "" {
				t.Fatalf("%s with %q holds %q:\n%q", what, text, bad, shown)
			}
			if got, want := outermost(shown), outermost(plain[what]); got != want {
				t.Fatalf("%s with %q has %d lines, want %d:\n%s", what, text, got, want, shown)
			}
		}
	}
	if seen < 800 {
		t.Errorf("the control: %d of 1000 act", seen)
	}
}
