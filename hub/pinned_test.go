package hub

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcphub/children/offers"
	"mcphub/e2e/childtest"
	"mcphub/hub/pin"
)

// TestAToolThatGrowsWhileItsServerRuns: a tool that grows while its server runs is offered to no client before a person accepts it, and one
// question is asked about it, also if the server goes back and forth. The lock and the answer have the server's own name for the tool, which
// clients know by another one. Control: the tool as it was stays on offer.
func TestAToolThatGrowsWhileItsServerRuns(t *testing.T) {
	const change = `{"name":"change","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	const was = `{"name":"echo","description":"Keeps a note.","inputSchema":{"type":"object","properties":{"note":{"type":"string"}}}}`
	grown := strings.Replace(was, `"note":{`, `"path":{"type":"string"},"note":{`, 1)
	further := strings.Replace(was, `"note":{`, `"url":{"type":"string"},"note":{`, 1)

	accepted := &offers.RawOffer{}
	accepted.Entries[offers.Tools] = [][]byte{[]byte(was), []byte(change)}
	locked, _ := pin.Of(accepted, "")
	var mu sync.Mutex
	var answer pin.Accepted
	asked := map[string]pin.Accepted{} // by what would count
	p := &past{t: t, defs: filepath.Join(t.TempDir(), "defs"), dir: filepath.Join(t.TempDir(), "catalogue"), work: t.TempDir()}
	p.define(was, change)
	cfg := p.config(scripted("kid", childtest.Script{Defs: p.defs}))
	cfg.Children[0].Words.Rename = map[string]string{"echo": "keep"}
	cfg.Pins = pin.NewPins(pin.Options{
		Lock: &pin.Lock{Servers: map[string]*pin.Server{"kid": locked}},
		Mode: func(string) pin.Mode { return pin.Ask },
		Accepted: func(string) pin.Accepted {
			mu.Lock()
			defer mu.Unlock()
			return answer
		},
		Ask: func(q pin.Question) error {
			mu.Lock()
			defer mu.Unlock()
			asked[string(q.Value.Format())] = q.Value
			return nil
		},
	})
	c := connect(t, runHub(t, cfg))
	c.handshake(`{}`)
	for i, step := range []struct {
		def       string
		offered   bool
		questions int  // so far
		accept    bool // what is asked is accepted afterwards
	}{
		{was, true, 0, false},
		{grown, false, 1, false},
		{was, true, 1, false},
		{grown, false, 1, true},
		{was, true, 1, false},
		{grown, true, 1, false},
		{further, false, 2, true},
		{grown, true, 2, false},
		{further, true, 2, false},
		{was, true, 2, false},
	} {
		if i > 0 {
			p.define(step.def, change)
			c.raw("tools/call", toolCall("kid__change", `{"name":"x"}`))
			c.awaitNote("notifications/tools/list_changed")
		}
		if got := c.listed("kid__keep"); got != step.offered {
			t.Errorf("step %d: listed %v, want %v", i, got, step.offered)
		}
		call := toolCall("kid__keep", `{"note":"x"}`)
		if step.offered {
			c.raw("tools/call", call)
		} else if err := c.refused("tools/call", call); !strings.Contains(err.Message, "is not offered: it has grown since hub.lock was written") {
			t.Errorf("step %d: the call is refused with %v", i, err)
		}
		mu.Lock()
		if len(asked) != step.questions {
			t.Errorf("step %d: %d questions were asked, want %d: %v", i, len(asked), step.questions, asked)
		}
		if step.accept {
			for _, value := range asked {
				if len(value["echo"]) > len(answer["echo"]) {
					answer = value
				}
			}
		}
		mu.Unlock()
	}
}
