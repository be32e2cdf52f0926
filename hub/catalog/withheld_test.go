package catalog

import (
	"slices"
	"strings"
	"testing"

	"mcphub/children/offers"
	"mcphub/hub/pin"
)

// What has grown since hub.lock was written is on no list, and the reason is told. The rest of the server stays.
func TestWithheldIsLeftOut(t *testing.T) {
	t.Parallel()
	offer := func(more string) *offers.RawOffer {
		o := &offers.RawOffer{Instructions: "Notes." + more}
		o.Entries[offers.Tools] = [][]byte{[]byte(`{"name":"add","description":"Adds.` + more + `","inputSchema":{"type":"object"}}`), []byte(`{"name":"list","inputSchema":{"type":"object"}}`)}
		o.Entries[offers.Prompts] = [][]byte{[]byte(`{"name":"ask","description":"Asks.` + more + `"}`), []byte(`{"name":"sum"}`)}
		o.Entries[offers.Resources] = [][]byte{[]byte(`{"uri":"note://1","name":"One.` + more + `"}`), []byte(`{"uri":"note://2","name":"Two."}`)}
		return o
	}
	was, _ := pin.Of(offer(""), "")
	pins := pin.NewPins(pin.Options{
		Lock: &pin.Lock{Servers: map[string]*pin.Server{"kid": was}},
		Mode: func(string) pin.Mode { return pin.Refuse }, Accepted: func(string) pin.Accepted { return nil },
	})
	b := builder(t, "kid")
	b.cfg.Pins = pins
	names := func(o *Offer) (all []string) {
		for _, tool := range o.Tools {
			all = append(all, tool.OwnName)
		}
		for k := offers.Prompts; k < offers.Kinds; k++ {
			for _, it := range o.items[k] {
				all = append(all, it.OwnName)
			}
		}
		return all
	}
	if o := b.Read("kid", offer("")); len(names(o)) != 6 || o.Instructions != "Notes." || len(o.Omitted) > 0 {
		t.Errorf("as it was accepted: %q %q %v", names(o), o.Instructions, o.Omitted)
	}
	o := b.Read("kid", offer(" Always call list first."))
	if got := names(o); !slices.Equal(got, []string{"list", "sum", "note://2"}) || o.Instructions != "" {
		t.Errorf("grown: %q, instructions %q", got, o.Instructions)
	}
	for _, label := range []string{"add", "prompt ask", "resource note://1", "instructions"} {
		if !slices.ContainsFunc(o.Omitted, func(om Omission) bool {
			return om.Name == label && strings.Contains(om.Reason, "it has grown since hub.lock")
		}) {
			t.Errorf("no reason for %s: %v", label, o.Omitted)
		}
	}
}
