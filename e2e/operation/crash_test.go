package operation

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
	"mcphub/internal/bounds"
)

// wantFailed wants a call to have failed in words that a person can use: as a JSON-RPC error or as a tool result.
func wantFailed(s *world.Session, id string, words ...string) {
	s.T.Helper()
	m, err := s.Answer(s.Context(), id)
	world.Must(s.T, err)
	text := ""
	if e, failed := m.RPCError(); failed {
		text = e.Message
	} else {
		var r struct {
			IsError bool
			Content []struct{ Text string }
		}
		world.Must(s.T, json.Unmarshal(m.Result, &r))
		if !r.IsError || len(r.Content) == 0 {
			s.T.Errorf("call %s did not fail: %s", id, m.Raw)
			return
		}
		text = r.Content[0].Text
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			s.T.Errorf("the error does not say %q: %s", word, text)
		}
	}
	if strings.ContainsRune(text, 0x1b) {
		s.T.Errorf("the error holds terminal escapes: %q", text)
	}
}

func TestAKilledChildFailsItsCallAndNothingElse(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"victim": w.Recorder("victim"), "other": w.Recorder("other")}), ide.Folders(w.Project))
	s.Handshake()
	first := s.PIDOf("victim")
	s.PIDOf("other")
	doomed := s.SendCall("victim__sleep", `{"ms":60000}`)
	spared := s.SendCall("other__sleep", `{"ms":700}`)
	if !world.Within(world.WaitLimit, func() bool { return world.Calls(w.Recorded("victim"), "sleep") == 1 }) {
		t.Fatal("the call did not reach the child")
	}
	p, err := os.FindProcess(first)
	world.Must(t, err)
	begun := time.Now()
	world.Must(t, p.Kill())
	wantFailed(s, doomed, "victim")
	if took := time.Since(begun); took > bounds.Of(2*time.Second) {
		t.Errorf("the call failed %v after its child", took)
	}
	if r := s.AwaitCall(spared); r.Text != "slept" {
		t.Errorf("the other child's call: %s", r.Raw)
	}
	if second := s.PIDOf("victim"); second == first {
		t.Errorf("pid %d again after it was killed", second)
	}
	if dead := world.Zombies(t, s.PID()); len(dead) > 0 {
		t.Errorf("zombies: %v", dead)
	}
	if n := len(w.Starts("other")); n != 1 {
		t.Errorf("the other child was started %d times", n)
	}
}

func TestACrashingChildIsNamedWithItsLastWords(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	s.PIDOf("rec")
	wantFailed(s, s.SendCall("rec__crash", `{}`), "rec", "as told")
	s.PIDOf("rec")
	if n := len(w.Starts("rec")); n != 2 {
		t.Errorf("%d starts, want 2", n)
	}
}

// A child that cannot start, one that is slow and one that hangs in the handshake hide nobody's tools.
func TestOneBadChildDelaysNobody(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	dead := w.Recorder("dead", "-die-at-start")
	gate := w.Path("gate")
	slow := w.Recorder("slow", "-gate", gate)
	s := w.Serve(w.Config(obj{
		"good": w.Recorder("good"), "dead": dead, "slow": slow,
		"missing": obj{"command": w.Path("no-such-program")},
		"unset":   obj{"command": "${MCPHUB_E2E_NEVER_SET}"},
	}), ide.Folders(w.Project))
	begun := time.Now()
	s.Handshake()
	s.MustCall("good__echo", `{"text":"at once"}`)
	if took := time.Since(begun); took > bounds.Of(2*time.Second) {
		t.Errorf("a call to a good child took %v: it, or initialize, waited for another one", took)
	}
	listed := time.Now()
	all := s.Tools()
	if took := time.Since(listed); took > bounds.Of(6*time.Second) {
		t.Errorf("tools/list took %v, want at most about 5 s", took)
	}
	if all["good__echo"] == nil || all["slow__echo"] != nil {
		t.Errorf("the good child's tools are hidden, or the slow one has started: %v", world.Names(all))
	}
	world.Must(t, os.WriteFile(gate, nil, 0o600))
	s.AwaitTool("slow__echo")
	wantFailed(s, s.SendCall("dead__echo", `{}`), "dead", "dead at start")
	wantFailed(s, s.SendCall("missing__echo", `{}`), "missing")
	wantFailed(s, s.SendCall("unset__echo", `{}`), "MCPHUB_E2E_NEVER_SET")
	text := s.MustCall("list-tools", `{}`).Text
	for _, word := range []string{"good", "dead at start", "missing", "MCPHUB_E2E_NEVER_SET"} {
		if !strings.Contains(text, word) {
			t.Errorf("list-tools does not mention %q:\n%s", word, text)
		}
	}
}

// Floods on stderr and noise on stdout hurt nobody, and a child that never answers server/discover is not waited for long.
func TestASloppyChildWorks(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec", "-garbage", "-stderr-flood", "3000000", "-deaf-to-discover", "-ask-at-start")}), ide.Folders(w.Project))
	begun := time.Now()
	s.Handshake()
	s.MustCall("rec__echo", `{"text":"hello"}`)
	if took := time.Since(begun); took > bounds.Of(5*time.Second) {
		t.Errorf("the first call took %v", took)
	}
	s.MustCall("rec__flood", `{"bytes":3000000}`)
	s.MustCall("rec__echo", `{"text":"still there"}`)
	if n := len(s.Stderr()); n > 2_000_000 {
		t.Errorf("the hub passed on %d bytes of stderr", n)
	}
}

// A schema that cannot be read costs its tool the check by it and nothing else: the tool is listed and can be called, all that
// its arguments say is judged, and list-tools says why (V2).
func TestABadSchemaCostsItsCheckAlone(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec", "-bad-schema", "-nullable")}), ide.Folders(w.Project))
	s.Odd = true
	s.Handshake()
	all := s.AwaitTool("rec__echo")
	text := s.MustCall("list-tools", `{}`).Text
	for _, name := range []string{"reads_a_file", "asks_the_network", "no_schema"} {
		tool := "rec__" + name
		if all[tool] == nil {
			t.Errorf("%s is not listed", name)
		}
		if _, note, found := strings.Cut(text, tool); !found || !strings.Contains(note, "not checked by its schema") {
			t.Errorf("list-tools does not say what it lacks:\n%s", text)
		}
		s.MustRequest("tools/call", ide.ToolParams(tool, `{"a":1}`))
		if !strings.Contains(w.Recorded("rec"), `"params":{"name":"`+name+`","arguments":{"a":1}}`) {
			t.Errorf("a call of %s did not reach the child", name)
		}
		if r := s.AwaitCall(s.SendCall(tool, `{"whatever":"/etc/hostname"}`)); !r.IsError || !strings.Contains(r.Text, "Access denied") {
			t.Errorf("%s: what lies outside is not refused: %s", name, r.Text)
		}
	}
	if all["rec__rich"] == nil || all["rec__rich_draft07"] == nil || all["rec__echo_nullable"] == nil {
		t.Errorf("good tools are hidden: %v", world.Names(all))
	}
	if seen := w.Recorded("rec"); strings.Contains(seen, "/etc/hostname") {
		t.Errorf("a denied call reached the child:\n%s", seen)
	}
}

// A tool that a child adds while it runs is announced and listed.
func TestAToolAddedLaterIsListed(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	if s.AwaitTool("rec__echo")["rec__late"] != nil {
		t.Fatal("it is there before it was added")
	}
	s.MustCall("rec__add_tool", `{"name":"late"}`)
	s.AwaitTool("rec__late")
	s.MustCall("rec__late", `{}`)
}
