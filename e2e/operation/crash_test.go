package operation

import (
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// A schema that cannot be read costs its tool the check by it and nothing else: the tool is listed and can be called, all that
// its arguments say is judged, and list-tools says why.
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
