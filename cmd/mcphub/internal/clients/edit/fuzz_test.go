package edit

import "testing"

// FuzzEdit holds that no text makes an edit panic, and that what it gives back
// after undoing means what it meant before.
func FuzzEdit(f *testing.F) {
	for _, m := range marked {
		f.Add(string(m.format), m.text)
	}
	for _, text := range []string{"", "{", "[", "# x", "mcp:\n- a\n- b: {c: d}\n", "mcp: &a\n  x: *a\n", "[mcp.x]\n[mcp.x]\n", "mcp.x.y = 1\n", "mcp = {x = {enabled = true}}", "{\"mcp\": {\"x\": {}}, /*", "mcp: {x: {enabled: true}, y: 1}", "mcp:\n  ? x\n  : y\n", "mcp:\r\n  x:\r\n    enabled: true"} {
		for _, format := range []Format{JSON, TOML, YAML} {
			f.Add(string(format), text)
		}
	}
	at := Container{Path: []string{"mcp"}}
	f.Fuzz(func(t *testing.T, format, text string) {
		before, err := Decode(Format(format), []byte(text))
		if err != nil {
			return
		}
		for _, c := range []Change{{Kind: Put, Name: "hub", Value: hub}, {Kind: Set, Name: "x", Key: "enabled", Value: false}, {Kind: Remove, Name: "x"}} {
			after, c, err := Apply(Format(format), []byte(text), at, c)
			if err != nil {
				continue
			}
			back, err := Undo(Format(format), after, at, c)
			if err != nil {
				continue // it says so, and the copy is there
			}
			got, err := Decode(Format(format), back)
			if err != nil || !sameFiles(got, before, at) {
				t.Fatalf("%s: %q became %q, then %q (%v)", c.Kind, text, after, back, err)
			}
		}
	})
}
