package hub

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/hub/httpfront"
	"mcphub/hub/telemetry"
)

// logLines keeps what is logged.
type logLines struct {
	mu  sync.Mutex
	all []map[string]any
}

func (l *logLines) Write(b []byte) (int, error) {
	var line map[string]any
	if err := json.Unmarshal(b, &line); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
	return len(b), nil
}

// TestRefusalsAtTheDoorAreTold: of each kind of refusal there is a count, a line of the log and a line of the record, with
// the address and the User-Agent of the client. What is served leaves none.
func TestRefusalsAtTheDoorAreTold(t *testing.T) {
	t.Parallel()
	log := &logLines{}
	rec := audit.NewRecorder(audit.Options{Dir: t.TempDir() + "/audit"}, nil)
	stop := runRecorder(t, rec)
	cfg := testConfig(t)
	cfg.Log, cfg.Telemetry = zerolog.New(log), telemetry.New(telemetry.Options{})
	cfg.Audit = Audit{Recorder: rec}
	h := runHub(t, cfg)
	w := serveWeb(t, h, HTTPOptions{
		Tokens: []Token{{Name: "me", Secret: "mine"}, {Name: "you", Secret: "yours"}}, Principal: PrincipalLimits{Sessions: 1, Calls: 1, Rate: 1, Burst: 1},
		Sessions: 4, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	mine, agent := []string{"Authorization", "Bearer mine"}, []string{"User-Agent", "tester/1", "X-Forwarded-For", "6.6.6.6, 192.0.2.7"}
	c := w.initialize(`{}`, append(mine, agent...)...)
	session := append([]string{headerSession, c.session}, mine...)
	list, ping := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	with := func(header []string, more ...string) []string { return append(append([]string{}, header...), more...) }
	want := map[string]int{}
	for _, tc := range []struct {
		method, body string
		header       []string
		code         int
		reason       string
	}{
		{"POST", list, nil, 401, httpfront.ReasonToken},
		{"POST", list, []string{"Authorization", "Bearer wrong"}, 401, httpfront.ReasonToken},
		{"POST", list, with(session, "Host", "evil.example"), 403, httpfront.ReasonHost},
		{"POST", list, with(session, "Origin", "https://evil.example"), 403, httpfront.ReasonOrigin},
		{"POST", list, with(mine, headerSession, "00000000-0000-4000-8000-000000000000"), 404, httpfront.ReasonSession},
		{"POST", list, mine, 400, httpfront.ReasonSession},
		{"POST", hello, session, 400, httpfront.ReasonSession},
		{"PUT", "", session, 405, httpfront.ReasonMethod},
		{"POST", list, with(session, "Accept", "text/html"), 406, httpfront.ReasonAccept},
		{"GET", "", with(session, "Accept", "application/json"), 406, httpfront.ReasonAccept},
		{"POST", strings.Repeat(" ", 2<<20) + hello, mine, 413, httpfront.ReasonSize},
		{"POST", list, with(session, "Content-Type", "text/plain"), 415, httpfront.ReasonType},
		{"POST", list, with(session, "Content-Encoding", "gzip"), 415, httpfront.ReasonType},
		{"POST", "{", session, 400, httpfront.ReasonBody},
		{"POST", `{"jsonrpc":"2.0"}`, session, 400, httpfront.ReasonBody},
		{"POST", list, with(session, "Mcp-Protocol-Version", "1999-01-01"), 400, httpfront.ReasonVersion},
		{"POST", hello, with(mine, "Mcp-Protocol-Version", "2026-07-28"), 400, httpfront.ReasonHeader},
		{"POST", hello, mine, 503, httpfront.ReasonSessions},
	} {
		r := w.do(tc.method, tc.body, with(tc.header, agent...)...)
		if r.StatusCode != tc.code {
			t.Errorf("%s: %d, want %d: %s", tc.reason, r.StatusCode, tc.code, body(t, r))
		}
		want[fmt.Sprint(tc.code, " ", tc.reason)]++
	}
	for range 3 { // calls that go on to servers are counted by rate
		r := w.do("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+toolCall("nobody__there", `{}`)+`}`, with(session, agent...)...)
		if r.StatusCode == 429 {
			want["429 "+httpfront.ReasonRate]++
		}
		_ = body(t, r)
	}
	if want["429 "+httpfront.ReasonRate] == 0 {
		t.Error("no call was refused by its rate")
	}
	if r := w.do("POST", ping, with(session, agent...)...); r.StatusCode != 200 {
		t.Errorf("a control: %d %s", r.StatusCode, body(t, r))
	}
	if len(want) < 14 {
		t.Errorf("%d kinds of refusals", len(want))
	}

	stop()
	metrics := page(&cfg)
	for kind, n := range want {
		code, reason, _ := strings.Cut(kind, " ")
		if line := fmt.Sprintf("mcphub_http_refusals_total{code=%q,reason=%q} %d\n", code, reason, n); !strings.Contains(metrics, line) {
			t.Errorf("the page does not have %s", line)
		}
	}
	logged, recorded := map[string]int{}, map[string]int{}
	log.mu.Lock()
	for _, line := range log.all {
		if line["reason"] == nil {
			continue
		}
		logged[fmt.Sprint(line["status"], " ", line["reason"])]++
		if line["address"] != "192.0.2.7" || line["agent"] != "tester/1" || line["level"] != "warn" {
			t.Errorf("%v", line)
		}
	}
	log.mu.Unlock()
	all, err := trail.Decisions(rec.State().Dir, trail.Filter{Address: "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		d := &all[i]
		if d.Kind != audit.KindRejection {
			continue
		}
		recorded[fmt.Sprint(d.Status, " ", d.Code)]++
		if d.Agent != "tester/1" || d.Decision != "refuse" || d.Status < 401 && d.Why == "" && d.Code != httpfront.ReasonHeader {
			t.Errorf("%s", d.Raw)
		}
	}
	for kind, n := range want {
		if logged[kind] != n || recorded[kind] != n {
			t.Errorf("%s: %d in the log, %d in the record, of %d", kind, logged[kind], recorded[kind], n)
		}
	}
	if len(logged) != len(want) || len(recorded) != len(want) {
		t.Errorf("others are told: %v, %v; want %v", logged, recorded, want)
	}
	clients, err := trail.ReadClients(rec.State().Dir)
	named := 0
	for _, by := range clients { // that of the client, and what serves requests without a handshake
		if by.Name == "t 1" {
			named++
		}
		if by.Address != "192.0.2.7" || by.Agent != "tester/1" {
			t.Errorf("a session is of %+v", by)
		}
	}
	if err != nil || len(clients) != 2 || named != 1 {
		t.Errorf("%+v: %v", clients, err)
	}
}
