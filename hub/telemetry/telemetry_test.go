package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/hub/audit"
	"mcphub/internal/methods"
)

// watched returns a Telemetry of a hub with no servers that anybody knows of.
func watched(options Options) *Telemetry {
	t := New(options)
	zero, limit := func() int64 { return 0 }, func() LimitUse { return LimitUse{1, 8, 1, 4} }
	t.SetGauges(Gauges{Transport: func(string) string { return Pipe }, Questions: zero, Suspended: zero, Waiting: zero, Unrecorded: func() uint64 { return 0 }, Sessions: limit, Children: limit})
	return t
}

// request is one request of a tool that its server answers so.
func request(s *SessionMetrics, method, child, tool, word string, fault []byte) {
	timing := s.StartTiming()
	timing.SetOperation(method, child, tool)
	timing.CountDecision("allow", "rule")
	timing.StartServerTime("2025-11-25")
	timing.EndServerTime(word, fault)
	timing.EndRequest(method, word, fault)
}

func lines(t *Telemetry, name string) (n int) {
	for l := range strings.Lines(string(t.Append(nil))) {
		if strings.HasPrefix(l, name+"{") {
			n++
		}
	}
	return n
}

// TestLabelsAreBounded: a server that lists new tools for ever, codes of its making, clients that
// make up methods, and issuers that vouch for ever more people.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	w := watched(Options{Principals: true})
	const many = 5000
	for i := range many {
		s := w.NewSession(SessionLabels{HTTP: true, Principal: fmt.Sprintf("somebody %d@https://issuer", i%1000)})
		s.Enter()
		s.SetHandshakeVersion("2025-11-25")
		request(s, methods.CallTool, "hostile", fmt.Sprintf("tool %d", i), audit.ResultError, fmt.Appendf(nil, `{"code":%d}`, i))
		request(s, fmt.Sprintf("made/up/%d", i), "", "", audit.ResultOK, nil)
		timing := s.StartTiming()
		timing.EndRequest(methods.CallTool, audit.ResultError, nil)
		s.Leave()
	}
	request(w.NewSession(SessionLabels{}), methods.CallTool, "honest", "read", audit.ResultOK, nil)
	for name, most := range map[string]int{
		onPage(serverOperation) + "_count": 400, "mcphub_requests_total": 4100, onPage(clientOperation) + "_count": 300,
		onPage(serverSession) + "_count": 3, "mcphub_decisions_total": 1100, "mcphub_sessions": 1100,
	} {
		if n := lines(w, name); n > most || n < 1 && name != "mcphub_decisions_total" {
			t.Errorf("%s has %d series, want at most %d", name, n, most)
		}
	}
	kept := 0
	for _, c := range w.clients {
		kept += len(c.operations)
	}
	if most := (maxClients + 8) * (maxTools + 5); kept > most || len(w.clients) > maxClients+8 {
		t.Errorf("%d kinds of requests of %d clients are kept, want at most %d", kept, len(w.clients), most)
	}
	page := string(w.Append(nil))
	for _, l := range []string{
		`mcphub_server_name="honest",gen_ai_tool_name="read"`, `mcphub_server_name="hostile",gen_ai_tool_name="_other"`,
		`mcp_method_name="_OTHER"`, `error_type="_OTHER"`, `mcphub_principal="_other"`,
	} {
		if !strings.Contains(page, l) {
			t.Errorf("no %s on the page", l)
		}
	}
	if strings.Contains(page, "made/up") {
		t.Error("a method that a client made up is on the page")
	}
}

// TestPrincipalsOnlyWhereAskedFor, and in no histogram, of which each would have as many series as there are principals; and what becomes of a Call that ends twice.
func TestPrincipalsOnlyWhereAskedFor(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		w := watched(Options{Principals: asked})
		s := w.NewSession(SessionLabels{Principal: "alice"})
		s.Enter()
		request(s, methods.CallTool, "kid", "echo", audit.ResultOK, nil)
		s.Leave()
		page := string(w.Append(nil))
		if strings.Contains(page, "alice") != asked {
			t.Errorf("metrics.principals %t: the page is\n%s", asked, page)
		}
		for l := range strings.Lines(page) {
			if strings.Contains(l, "_seconds") && strings.Contains(l, "alice") {
				t.Errorf("a histogram names a principal: %s", l)
			}
		}
	}
}

func TestACallEndsOnce(t *testing.T) {
	t.Parallel()
	w := watched(Options{})
	s := w.NewSession(SessionLabels{})
	timing := s.StartTiming()
	timing.SetOperation(methods.CallTool, "kid", "echo")
	timing.StartServerTime("")
	for range 2 {
		timing.EndServerTime(audit.ResultOK, nil)
		timing.EndRequest(methods.CallTool, audit.ResultOK, nil)
	}
	var zero RequestTiming
	zero.SetOperation("x", "y", "z")
	zero.StartServerTime("")
	zero.EndServerTime("ok", nil)
	zero.EndRequest("x", "ok", nil)
	page := string(w.Append(nil))
	for _, name := range []string{serverOperation, clientOperation} {
		if !strings.Contains(page, onPage(name)+`_count{mcp_method_name="tools/call",mcphub_server_name="kid",gen_ai_tool_name="echo",gen_ai_operation_name="execute_tool"`) || strings.Contains(page, "} 2\n") {
			t.Errorf("%s is not there once:\n%s", name, page)
		}
	}
}

// TestChildren: each state counts once, and nothing is left of what has ended.
func TestChildren(t *testing.T) {
	t.Parallel()
	w := watched(Options{})
	k := spec.Key{Child: "kid"}
	for _, st := range []children.Status{
		{Key: k, State: children.Starting}, {Key: k, State: children.Ready, Protocol: "2025-11-25"}, {Key: k, State: children.BackingOff, Protocol: "2025-11-25"},
		{Key: k, State: children.Ready, Restarts: 1, Protocol: "2025-11-25"},
	} {
		w.UpdateChild(&st)
	}
	page := string(w.Append(nil))
	for _, l := range []string{
		`mcphub_children{mcphub_server_name="kid",state="ready"} 1`, `mcphub_children{mcphub_server_name="kid",state="backing_off"} 0`,
		`mcphub_child_restarts_total{mcphub_server_name="kid"} 1`,
		onPage(clientSession) + `_count{mcphub_server_name="kid",error_type="_OTHER",mcp_protocol_version="2025-11-25",network_transport="pipe"} 1`,
	} {
		if !strings.Contains(page, l+"\n") {
			t.Errorf("no %s on\n%s", l, page)
		}
	}
	w.UpdateChild(&children.Status{Key: k, State: children.Stopped, Final: true})
	if page = string(w.Append(nil)); strings.Contains(page, `mcphub_children{mcphub_server_name="kid",state="ready"} 1`) || len(w.children) != 0 {
		t.Errorf("what has ended is still counted:\n%s", page)
	}
}

// TestAScrapeIsQuick: sessions are counted and never walked.
func TestAScrapeIsQuick(t *testing.T) {
	t.Parallel()
	w := watched(Options{})
	for i := range 10_000 {
		s := w.NewSession(SessionLabels{HTTP: true})
		s.Enter()
		s.SetHandshakeVersion("2025-11-25")
		request(s, methods.CallTool, fmt.Sprintf("server%d", i%30), fmt.Sprintf("tool%d", i%10), audit.ResultOK, nil)
	}
	quickest := time.Hour
	var page []byte
	for range 6 {
		start := time.Now()
		page = w.Append(page[:0])
		quickest = min(quickest, time.Since(start))
	}
	t.Logf("%d bytes in %s", len(page), quickest)
	if !strings.Contains(string(page), `mcphub_sessions{network_transport="tcp"} 10000`) {
		t.Errorf("10000 sessions are not told")
	}
	if most := bounds.Of(20 * time.Millisecond); quickest > most {
		t.Errorf("a scrape takes %s, want %s", quickest, most)
	}
}

func TestKnownRequestsAllocateNothing(t *testing.T) {
	w := watched(Options{})
	s := w.NewSession(SessionLabels{})
	if n := testing.AllocsPerRun(200, func() { request(s, methods.CallTool, "kid", "echo", audit.ResultOK, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	s := watched(Options{}).NewSession(SessionLabels{})
	for b.Loop() {
		request(s, methods.CallTool, "filesystem", "read_text_file", audit.ResultOK, nil)
	}
}
