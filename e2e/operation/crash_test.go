package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/ide"
)

// wantFailed wants a call to have failed in words that a person can use: as a JSON-RPC error or as a tool result.
func (s *session) wantFailed(id string, words ...string) {
	s.t.Helper()
	m, err := s.Answer(s.ctx(), id)
	must(s.t, err)
	text := ""
	if e, failed := m.RPCError(); failed {
		text = e.Message
	} else {
		var r struct {
			IsError bool
			Content []struct{ Text string }
		}
		must(s.t, json.Unmarshal(m.Result, &r))
		if !r.IsError || len(r.Content) == 0 {
			s.t.Errorf("call %s did not fail: %s", id, m.Raw)
			return
		}
		text = r.Content[0].Text
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			s.t.Errorf("the error does not say %q: %s", word, text)
		}
	}
	if strings.ContainsRune(text, 0x1b) {
		s.t.Errorf("the error holds terminal escapes: %q", text)
	}
}

// pid asks a recorder for its process id.
func (s *session) pid(child string) int {
	s.t.Helper()
	var st started
	decode(s.t, s.call(child+"__whoami", `{}`).Structured, &st)
	return st.PID
}

func TestAKilledChildFailsItsCallAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"victim": w.recorder("victim"), "other": w.recorder("other")}), ide.Folders(w.project))
	s.initialize()
	first := s.pid("victim")
	s.pid("other")
	doomed := s.send("victim__sleep", `{"ms":60000}`)
	spared := s.send("other__sleep", `{"ms":700}`)
	if !within(waitLimit, func() bool { return calls(w.recorded("victim"), "sleep") == 1 }) {
		t.Fatal("the call did not reach the child")
	}
	p, err := os.FindProcess(first)
	must(t, err)
	begun := time.Now()
	must(t, p.Kill())
	s.wantFailed(doomed, "victim")
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the call failed %v after its child", took)
	}
	if r := s.await(spared); r.Text != "slept" {
		t.Errorf("the other child's call: %s", r.Raw)
	}
	if second := s.pid("victim"); second == first {
		t.Errorf("pid %d again after it was killed", second)
	}
	if dead := zombies(t, s.PID()); len(dead) > 0 {
		t.Errorf("zombies: %v", dead)
	}
	if n := len(w.starts("other")); n != 1 {
		t.Errorf("the other child was started %d times", n)
	}
}

func TestACrashingChildIsNamedWithItsLastWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.Folders(w.project))
	s.initialize()
	s.pid("rec")
	s.wantFailed(s.send("rec__crash", `{}`), "rec", "as told")
	s.pid("rec")
	if n := len(w.starts("rec")); n != 2 {
		t.Errorf("%d starts, want 2", n)
	}
}

// A child that cannot start, one that is slow and one that hangs in the handshake hide nobody's tools.
func TestOneBadChildDelaysNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead := w.recorder("dead", "-die-at-start")
	slow := w.recorder("slow", "-slow-start", "7s")
	s := w.serve(w.config(obj{
		"good": w.recorder("good"), "dead": dead, "slow": slow,
		"missing": obj{"command": w.path("no-such-program")},
		"unset":   obj{"command": "${MCPHUB_E2E_NEVER_SET}"},
	}), ide.Folders(w.project))
	begun := time.Now()
	s.initialize()
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("initialize took %v: it waited for children", took)
	}
	s.call("good__echo", `{"text":"at once"}`)
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("a call to a good child took %v", took)
	}
	listed := time.Now()
	all := s.tools()
	if took := time.Since(listed); took > 6500*time.Millisecond {
		t.Errorf("tools/list took %v, want at most about 5 s", took)
	}
	if all["good__echo"] == nil {
		t.Errorf("the good child's tools are hidden: %v", names(all))
	}
	s.awaitTool("slow__echo")
	s.wantFailed(s.send("dead__echo", `{}`), "dead", "dead at start")
	s.wantFailed(s.send("missing__echo", `{}`), "missing")
	s.wantFailed(s.send("unset__echo", `{}`), "MCPHUB_E2E_NEVER_SET")
	text := s.call("list-tools", `{}`).Text
	for _, word := range []string{"good", "dead at start", "missing", "MCPHUB_E2E_NEVER_SET"} {
		if !strings.Contains(text, word) {
			t.Errorf("list-tools does not mention %q:\n%s", word, text)
		}
	}
}

// Floods on stderr and noise on stdout hurt nobody, and a child that never answers server/discover is not waited for long.
func TestASloppyChildWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec", "-garbage", "-stderr-flood", "3000000", "-deaf-to-discover", "-ask-at-start")}), ide.Folders(w.project))
	begun := time.Now()
	s.initialize()
	s.call("rec__echo", `{"text":"hello"}`)
	if took := time.Since(begun); took > 7*time.Second {
		t.Errorf("the first call took %v", took)
	}
	s.call("rec__flood", `{"bytes":3000000}`)
	s.call("rec__echo", `{"text":"still there"}`)
	if n := len(s.Stderr()); n > 2_000_000 {
		t.Errorf("the hub passed on %d bytes of stderr", n)
	}
}

// A schema that cannot be read costs its tool the check by it and nothing else: the tool is listed and can be called, all that
// its arguments say is judged, and list-tools says why (V2).
func TestABadSchemaCostsItsCheckAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec", "-bad-schema", "-nullable")}), ide.Folders(w.project))
	s.odd = true
	s.initialize()
	all := s.awaitTool("rec__echo")
	text := s.call("list-tools", `{}`).Text
	for _, name := range []string{"reads_a_file", "asks_the_network", "no_schema"} {
		tool := "rec__" + name
		if all[tool] == nil {
			t.Errorf("%s is not listed", name)
		}
		if _, note, found := strings.Cut(text, tool); !found || !strings.Contains(note, "not checked by its schema") {
			t.Errorf("list-tools does not say what it lacks:\n%s", text)
		}
		s.request("tools/call", ide.ToolParams(tool, `{"a":1}`))
		if !strings.Contains(w.recorded("rec"), `"params":{"name":"`+name+`","arguments":{"a":1}}`) {
			t.Errorf("a call of %s did not reach the child", name)
		}
		if r := s.await(s.send(tool, `{"whatever":"/etc/hostname"}`)); !r.IsError || !strings.Contains(r.Text, "Access denied") {
			t.Errorf("%s: what lies outside is not refused: %s", name, r.Text)
		}
	}
	if all["rec__rich"] == nil || all["rec__rich_draft07"] == nil || all["rec__echo_nullable"] == nil {
		t.Errorf("good tools are hidden: %v", names(all))
	}
	if seen := w.recorded("rec"); strings.Contains(seen, "/etc/hostname") {
		t.Errorf("a denied call reached the child:\n%s", seen)
	}
}

// A tool that a child adds while it runs is announced and listed.
func TestAToolAddedLaterIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serve(w.config(obj{"rec": w.recorder("rec")}), ide.Folders(w.project))
	s.initialize()
	if s.awaitTool("rec__echo")["rec__late"] != nil {
		t.Fatal("it is there before it was added")
	}
	s.call("rec__add_tool", `{"name":"late"}`)
	s.awaitTool("rec__late")
	s.call("rec__late", `{}`)
}
