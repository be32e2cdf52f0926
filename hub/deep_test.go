package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
)

// TestDeepDefinitionsHarmNobody: a child's definitions may be as deep as a frame may
// be. None of them ends the hub, or keeps the others from being offered. None reaches
// a client, whose stack it would spend.
func TestDeepDefinitionsHarmNobody(t *testing.T) {
	const depth = 9_900
	arrays := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	defs := []string{`{"name":"fine","inputSchema":{"type":"object"}}`}
	for name, schema := range map[string]string{
		"default":    `{"type":"object","properties":{"a":{"default":` + arrays + `}}}`,
		"properties": strings.Repeat(`{"properties":{"a":`, depth/2) + `{}` + strings.Repeat("}}", depth/2),
		"allof":      strings.Repeat(`{"allOf":[`, depth/2) + `{}` + strings.Repeat("]}", depth/2),
		"items":      strings.Repeat(`{"items":`, depth) + `{}` + strings.Repeat("}", depth),
	} {
		defs = append(defs, `{"name":"`+name+`","inputSchema":`+schema+`}`)
	}
	file := filepath.Join(t.TempDir(), "defs")
	if err := os.WriteFile(file, []byte(strings.Join(defs, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newPlayedHub(t, scripted("kid", childtest.Script{Defs: file}))
	c := connect(t, h, t.TempDir())
	c.handshake(`{"roots":{}}`)
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"kid__fine"`) || strings.Contains(list, `"kid__items"`) {
		t.Errorf("%.300s", list)
	}
	for _, name := range []string{"fine", "default", "properties", "allof", "items"} {
		resp, err := c.conn.Call(t.Context(), "tools/call", []byte(toolCall("kid__"+name, `{"a":{"a":"/etc/x"}}`)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if deep := resp.Err() != nil && strings.Contains(resp.Err().Message, "nests more than"); deep == (name == "fine") {
			t.Errorf("%s: %.200s %v", name, resp.Result, resp.Err())
		}
	}
}
