package console

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mcphub/e2e/seeds"
	"mcphub/hub/audit"
	"mcphub/internal/printable"
)

// hostile are pieces that browsers and terminals obey.
var hostile = []string{
	"<script>alert(1)</script>", "</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", `" autofocus onfocus=alert(1) x="`, "' onclick='alert(1)", "javascript:alert(1)",
	"</title>", "</textarea>", "<style>*{display:none}</style>", "<!--", "-->", "<base href=//evil.example/>", "<form action=//evil.example>", "<meta http-equiv=refresh content=0;url=//evil.example>",
	"</option></select>", "</details>", "</dd></dl></main>", "<iframe srcdoc=x>", "<link rel=stylesheet href=//evil.example>", "&lt;b&gt;", "&#60;b&#62;", "{{.Session}}", "<a href=data:text/html,x>",
	"\u202e", "\u2066", "\u2069", "\u200b", "\ufeff", "\u061c", "\U000e0041", "\x1b[31m", "\x1b]0;x\x07", "\x9b31m", "\x00", "\x7f", "\u2028", "\r", "\b", "\xff", "\xc3", "\xed\xa0\x80",
	"<input name=session value=x>", `"></button><button formaction=//evil.example>`, "`", "]]>", "plain", "ümläut", "日本",
}

// Each of them, and texts of several, stand in every place that a server, a client, a file or a hub fills, and no page has one
// character of markup more for it. MCPHUB_LONG_CASES is the number of texts of several.
func TestForeignTextIsInert(t *testing.T) {
	t.Parallel()
	random := seeds.Rand(t)
	empty := t.TempDir()
	s := testServer(fakes("plain", empty))
	session := begin(t, s)
	plain := shape(t, s, session, "plain")
	texts := slices.Clone(hostile)
	for range seeds.Cases(t, 100) {
		var b strings.Builder
		for range 2 + random.IntN(3) {
			b.WriteString(hostile[random.IntN(len(hostile))])
		}
		texts = append(texts, b.String())
	}
	for i, text := range texts {
		if i%10 == 0 { // each opens a log
			recordHostile(t, t.TempDir(), text)
		}
		s.cfg = fakes(text, empty)
		got := shape(t, s, session, text)
		for view, want := range plain {
			if got[view] != want {
				t.Fatalf("%s with %q has the markup\n%s, want\n%s", view, text, got[view], want)
			}
		}
	}
}

// markup returns what a page has of the characters that begin or end a tag or an attribute.
func markup(body string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>\"'", r) {
			return r
		}
		return -1
	}, body)
}

// shape returns the markup of every view. It fails if a page holds a character that does not print.
func shape(t *testing.T, s *Server, session url.Values, text string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, view := range []string{"/now", "/decisions", "/configuration", "/questions", "/record", "/verify", "/restart", "/reload", "/answer", "/servers", "/find", "/change", "/try", "/write"} {
		form := url.Values{"session": session["session"], "server": {text}, "tool": {text}, "path": {text}, "in": {text}, "principal": {text}, "do": {DoAdd}, "from": {FromCommand}, "text": {text}, "set": {text}}
		if view == "/decisions" {
			form = url.Values{"session": session["session"]}
		}
		if view == "/change" {
			form.Set("do", DoAllow)
		}
		body := ask(s, "POST", view, form, nil).Body.String()
		inertIs(t, view, text, body)
		all[view] = markup(body)
	}
	form := url.Values{"session": session["session"], "server": {text}, "tool": {text}, "path": {text}, "in": {text}, "principal": {text}, "decision": {text}}
	inertIs(t, "what was looked for", text, ask(s, "POST", "/decisions", form, nil).Body.String())
	return all
}

func inertIs(t *testing.T, view, text, body string) {
	t.Helper()
	if !utf8.ValidString(body) {
		t.Fatalf("%s with %q is no UTF-8", view, text)
	}
	for _, r := range body {
		if r != '\n' && r != '\t' && printable.Hidden(r) {
			t.Fatalf("%s with %q holds %U", view, text, r)
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
		t.Fatalf("%s with %q ends with %q", view, text, body[max(0, len(body)-200):])
	}
}

// The controls: written as they are, the texts are seen.
func TestHostileTextsAreSeen(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, text := range hostile {
		hidden := false
		for _, r := range text {
			hidden = hidden || r != '\n' && printable.Hidden(r) || r == utf8.RuneError
		}
		if markup(text) != "" || hidden {
			seen++
		}
	}
	if seen < len(hostile)-8 { // the others need no markup, or are honest
		t.Errorf("the checks see %d of %d", seen, len(hostile))
	}
}

// recordHostile records a decision that a text stands in wherever that can be.
func recordHostile(t *testing.T, dir, text string) {
	t.Helper()
	l, err := audit.Open(audit.Options{Dir: dir, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	d := audit.DecisionFields{Child: text, Tool: text, Decision: "deny", Rule: text, Code: "outside", By: text, Findings: []audit.Finding{{At: text, Role: "read", Path: text}}}
	if _, err := l.Put(audit.KindDecision, &audit.Record{Session: text, Principal: text, Request: []byte("1"), Method: text, DecisionFields: d, Within: []string{text}}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := ended(l); err != nil {
		t.Fatal(err)
	}
	s := testServer(fakes(text, dir))
	form := begin(t, s)
	form.Set("patient", "yes")
	body := ask(s, "POST", "/decisions", form, nil).Body.String()
	if !strings.Contains(body, "code outside") {
		t.Fatalf("the decision with %q is not shown: %s", text, body)
	}
	inertIs(t, "decisions", text, body)
}

// What is escaped can be read, and honest text is as it was, however it is cut into writes.
func TestInert(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\u202eb": `a\u202eb`, "\x1b[31m": `\x1b[31m`, "\xff": `\xff`, "日本 ü\n\t": "日本 ü\n\t", "\U000e0041": `\U000e0041`, "x\xe6\x97": `x\xe6\x97`, "": "",
	} {
		for size := 1; size <= 4; size++ {
			var out bytes.Buffer
			w := inert{w: &out}
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				if _, err := fmt.Fprint(&w, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := w.flushRest(); err != nil || out.String() != want {
				t.Errorf("%q by %d: %q, want %q", in, size, out.String(), want)
			}
		}
	}
}
