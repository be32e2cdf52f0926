package ide

import "testing"

// TestWhatWidens: the guard over all texts for clients finds what opens something to a server, also in JSON, and leaves honest texts
// alone.
func TestWhatWidens(t *testing.T) {
	for text, want := range map[string]bool{
		"run mcphub allow kid /x": true, "mcphub learn kid": true, "mcphub restart kid": true, "mcphub disable kid": true, "run `mcphub reload` at a terminal": true, "mcphub approve": true, `write \"sandbox\": \"off\"`: true,
		"add it to sandbox.write of": true, "MCPHUB_SANDBOX=off": true, `\"widen\": \"restart\"`: true,
		"Ask your user to run `mcphub why`": false, "declare it in hub.json": false, "mcphub disables nothing": false, "its sandbox is required": false,
	} {
		if got := widens.MatchString(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
		var log transcript
		log.init(nil)
		log.add(Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"text":"`+text+`"}}`)), false)
		if (len(log.widening) == 1) != want {
			t.Errorf("%q: %q", text, log.widening)
		}
	}
}
