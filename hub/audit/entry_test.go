package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/hub/audit"
	"mcphub/internal/redact"
)

// hashed returns a line with the right hash.
func hashed(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return []byte(text + `,"hash":"` + hex.EncodeToString(sum[:]) + `"}`)
}

// A line whose hash is right is refused all the same if it is not written as the format has it: no two readers may read it differently.
func TestALineStandsAsTheFormatHasIt(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0f", 32)
	line := func(number, prev, at, kind, rest string) string {
		return `{"v":1,"n":` + number + `,"prev":"` + prev + `","time":"` + at + `","kind":"` + kind + `"` + rest
	}
	at := "2026-11-21T12:00:00.000000Z"
	id := "01234567-89ab-4cde-8f01-23456789abcd"
	for _, text := range []string{
		line("1", hash, at, "open", `,"log":"`+id+`"`),
		line("999999999999999", hash, at, "az", ""),
		line("2", hash, at, "close", `,"log":"`+id+`","at":7,"head":"`+hash+`","from":1,"first":"`+hash+`","bytes":3,"sha256":"`+hash+`"`),
	} {
		if _, err := audit.ReadLine(hashed(text)); err != nil {
			t.Errorf("control: %s: %v", text, err)
		}
	}
	for _, text := range []string{
		line("", hash, at, "open", ""), line("0", hash, at, "open", ""), line("01", hash, at, "open", ""), line("-1", hash, at, "open", ""),
		line("1000000000000000", hash, at, "open", ""), line("1.0", hash, at, "open", ""), line(" 1", hash, at, "open", ""),
		line("1", strings.ToUpper(hash), at, "open", ""), line("1", hash[1:]+"g", at, "open", ""), line("1", hash[2:], at, "open", ""),
		line("1", hash, "2026-11-21T12:00:00.000000+", "open", ""), line("1", hash, "2026-13-21T12:00:00.000000Z", "open", ""),
		line("1", hash, at, "", ""), line("1", hash, at, "Open", ""), line("1", hash, at, "open`", ""), line("1", hash, at, "open{", ""),
		line("1", hash, at, "open", `,"log":"`+id[1:]+`"`), line("1", hash, at, "open", `,"at":7`), line("1", hash, at, "open", `,"at":x,"head":"`+hash+`"`),
		line("1", hash, at, "open", `,"from":1`), line("1", hash, at, "open", `,"bytes":0,"sha256":"`+hash+`"`),
		line("1", hash, at, "open", `,"n":1`), line("1", hash, at, "open", `,`), line("1", hash, at, "open", ",\"x\":\"\xff\""),
		strings.Replace(line("1", hash, at, "open", ""), `"v":1`, `"v":2`, 1), strings.Replace(line("1", hash, at, "open", ""), `"v":1`, `"v":x`, 1),
		"",
	} {
		if _, err := audit.ReadLine(hashed(text)); err == nil {
			t.Errorf("it was read: %s", text)
		}
	}
	good := hashed(line("1", hash, at, "open", ""))
	for _, b := range [][]byte{nil, good[1:], good[:len(good)-1], append(slices.Clone(good), ' ')} {
		if _, err := audit.ReadLine(b); err == nil {
			t.Errorf("it was read: %s", b)
		}
	}
	for text, want := range map[string]uint64{`{"v":1,"n":12,`: 12, `{"v":1,"n":12`: 12, `{"v":1,"n":123456789012345,`: 123456789012345, `{"v":1,"n":1234567890123456,`: 0, `{"v":1,"n":,`: 0, `{"v":2,"n":1,`: 0, `{"v":1,"n":01,`: 0} {
		if got, ok := audit.HeadNumber([]byte(text)); ok != (want > 0) || ok && got != want {
			t.Errorf("%s: %d, %t", text, got, ok)
		}
	}
}

// Only the names that mcphub gives to files are files of a log.
func TestLogOf(t *testing.T) {
	t.Parallel()
	id := "01234567-89ab-4cde-8f01-23456789abcd"
	for name, want := range map[string]bool{
		id + ".jsonl": true, id + "-2026-01-01T00-00-00.000-size.jsonl": true,
		strings.ToUpper(id) + ".jsonl": false, strings.Replace(id, "-", "", 4) + "0000.jsonl": false, "x" + id[1:] + ".jsonl": false,
		id + "x.jsonl": false, id + ".jsonl.gz": false, id + ".lock": false, id[1:] + ".jsonl": false, id[8:] + ".jsonl": false, audit.ChainName: false, ".jsonl": false,
	} {
		if got, ok := audit.LogOf(name); ok != want || ok && got != id {
			t.Errorf("%s: %q, %t", name, got, ok)
		}
	}
}

// digits returns a number of so many digits.
func digits(n int) []byte { return bytes.Repeat([]byte("7"), n) }

// Texts and lists are cut where the format says, and each is JSON.
func TestHowALineIsWritten(t *testing.T) {
	t.Parallel()
	line := func(r audit.Record) string { return string(r.Line()) }
	for name, tc := range map[string]struct{ got, want string }{
		"plain":          {line(audit.Record{Session: "a~b"}), `,"session":"a~b"`},
		"a control":      {line(audit.Record{Session: "a\x7f\x1f"}), ",\"session\":\"a\x7f\\u001f\""},
		"only a control": {line(audit.Record{Session: "\x1f"}), `,"session":"\u001f"`},
		"only a quote":   {line(audit.Record{Session: `"`}), `,"session":"\""`},
		"only a slash":   {line(audit.Record{Session: `\`}), `,"session":"\\"`},
		"no UTF-8":       {line(audit.Record{Session: "\xff"}), `,"session":"�"`},
		"a client":       {line(audit.Record{ClientInfo: audit.ClientInfo{Process: 7}}), `,"process":7`},
		"a trace":        {line(audit.Record{Trace: audit.Trace{State: "s"}}), `,"tracestate":"s"`},
		"a long id":      {line(audit.Record{Request: digits(128)}), `,"request":` + string(digits(128))},
		"too long an id": {line(audit.Record{Request: digits(129)}), `,"request":"` + string(digits(128)) + `…"`},
		"arguments":      {line(audit.Record{Arguments: digits(64 << 10)}), `,"arguments":` + string(digits(64<<10))},
		"too many":       {line(audit.Record{Arguments: digits(64<<10 + 1)}), `,"argumentsBytes":65537`},
		"a quote":        {line(audit.Record{Session: `a"\`}), `,"session":"a\"\\"`},
		"two places":     {line(audit.Record{Within: []string{"/a", "/b"}}), `,"within":["/a","/b"]`},
		"one of them":    {line(audit.Record{DecisionFields: audit.DecisionFields{Findings: []audit.Finding{{Ways: 1}}}}), `,"findings":[{}]`},
		"line breaks":    {line(audit.Record{Request: []byte("\r\n7\n")}), `,"request":  7 `},
		"several places": {line(audit.Record{DecisionFields: audit.DecisionFields{Findings: []audit.Finding{{Ways: 2}, {At: "/a", Ways: 3}}}}), `,"findings":[{"ways":2},{"at":"/a","ways":3}]`},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %.200s, want %.200s", name, tc.got, tc.want)
		}
	}
	for text, want := range map[string]string{
		strings.Repeat("x", 4096):        strings.Repeat("x", 4096),
		strings.Repeat("x", 4097):        strings.Repeat("x", 4096) + "…",
		strings.Repeat("x", 4094) + "€€": strings.Repeat("x", 4094) + "…",
		strings.Repeat("\x80", 4097):     "…",
	} {
		if got := line(audit.Record{Session: text}); got != `,"session":"`+want+`"` {
			t.Errorf("%d bytes are cut to %d: %.20s", len(text), len(got), got)
		}
		if got := line(audit.Record{Within: []string{text}}); got != `,"within":["`+want+`"]` {
			t.Errorf("%d bytes in a list are cut to %d: %.20s", len(text), len(got), got)
		}
	}
	many := line(audit.Record{Within: slices.Repeat([]string{"/a"}, 17)})
	if n := strings.Count(many, `"/a"`); n != 16 {
		t.Errorf("%d of 17 places are written", n)
	}
}

// A refusal is of the monitor or of the kernel, and shows nothing that may be a secret.
func TestRefusals(t *testing.T) {
	t.Parallel()
	at := time.Now()
	deny := audit.Record{Session: "s", DecisionFields: audit.DecisionFields{Child: "c", Tool: "t", Decision: "deny", Findings: []audit.Finding{{At: "/path", Role: "read", Path: "/x"}, {Path: "/y"}}}}
	out, ok := deny.Refusal(audit.KindDecision, at)
	if !ok || out.By != audit.ByMonitor || out.Path != "/x" || out.Role != "read" || out.At != "/path" || out.Server != "c" || !out.Time.Equal(at) {
		t.Errorf("%+v, %t", out, ok)
	}
	if out, ok = deny.Refusal(audit.KindRefusal, at); !ok || out.By != audit.ByKernel {
		t.Errorf("of the kernel: %+v, %t", out, ok)
	}
	if _, ok = deny.Refusal(audit.KindQuestion, at); ok {
		t.Error("a question is no refusal")
	}
	for decision, want := range map[string]bool{"allow": false, "refuse": false, "deny": true, "escalate": true} {
		r := audit.Record{DecisionFields: audit.DecisionFields{Decision: decision}}
		if out, ok := r.Refusal(audit.KindDecision, at); ok != want || out.Path != "" {
			t.Errorf("%s: %+v, %t", decision, out, ok)
		}
	}
	secret := audit.Record{DecisionFields: audit.DecisionFields{Findings: []audit.Finding{{At: "/password", Path: "hunter2"}}}}
	if out, _ := secret.Refusal(audit.KindDecision, at); out.Path != redact.Mark {
		t.Errorf("a secret is shown: %q", out.Path)
	}
	secret.Findings[0].Path = ""
	if out, _ := secret.Refusal(audit.KindDecision, at); out.Path != "" {
		t.Errorf("nothing is shown as %q", out.Path)
	}
	var recent audit.Recent
	for i := range 70 {
		recent.Add(audit.Refusal{Within: slices.Repeat([]string{""}, i)})
	}
	if list := recent.List(); len(list) != 64 || len(list[0].Within) != 6 || len(list[63].Within) != 69 {
		t.Errorf("%d are kept, from %d on", len(list), len(list[0].Within))
	}
}
