package methods

import (
	"testing"

	"mcphub/e2e/spectest"
)

// TestRows holds that no method has two rows, and that what only some kinds have stands with no other.
func TestRows(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range table {
		if seen[m.Name] || m.Name == "" || m.Kind == Extension || m.Kind == Inspection {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		if (m.MayAsk || m.Tasks || m.Cacheable) && m.Kind != Call || m.Header != "" && m.Kind != Call && m.Kind != Task {
			t.Errorf("%+v", m)
		}
	}
	if OfProtocol("") || OfProtocol("skills/list") || Of("skills/list").Name != "skills/list" || len(Judged()) != 6 {
		t.Errorf("%+v, %q", Of("skills/list"), Judged())
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
		"tools/list": "", "server/discover": "", "subscriptions/listen": "", "tasks/list": "", "": "",
	} {
		if got := Of(method).Header; got != want {
			t.Errorf("%s: %q", method, got)
		}
	}
}

// TestTheProtocolsMethodsAreKnown: what a schema of any version has is never taken
// for a method of an extension.
func TestTheProtocolsMethodsAreKnown(t *testing.T) {
	t.Parallel()
	for _, version := range spectest.Versions() {
		for _, method := range spectest.Methods(version) {
			if !OfProtocol(method) {
				t.Errorf("%s: %s", version, method)
			}
		}
	}
	if len(spectest.Versions()) == 0 || OfProtocol("skills/list") {
		t.Error("nothing was compared")
	}
}
