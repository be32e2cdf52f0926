package operation

import (
	"strings"
	"testing"
	"time"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
	"mcphub/internal/bounds"
)

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
