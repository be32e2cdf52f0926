package edit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
)

// Files with marks that someone edits between an edit of ours and its undoing.
var marked = []struct {
	format Format
	at     Container
	key    string
	text   string
}{
	{JSON, Container{Path: []string{"mcpServers"}}, "disabled", `// <1>
{
  "theme": "<2>", /* <3> */
  "mcpServers": {
    // about a <4>
    "a": { "command": "x", "args": ["<5>"], }, // <6>
    "b": {
      "command": "y", // <7>
      "env": { "TOKEN": "<8>" }
    },
    "c d": { "url": "<9>" } // last
    // nothing more <10>
  },
  "after": ["<11>", 1, 2] // <12>
}
// <13>
`},
	{JSON, Container{Path: []string{"mcp"}}, "enabled", `{"a":"<1>","mcp":{"a":{"command":["<2>"]},"b":{"enabled":true,"x":"<3>"},"c d":{"enabled":false}},"z":"<4>"}`},
	{JSON, Container{Path: []string{"servers"}}, "", "{\n\t\"inputs\": [\"<1>\"]\n}"},
	{JSON, Container{Path: []string{"x", "list"}, List: true}, "", `{
    "x": {
        "list": [ // first
            { "name": "a", "command": "<2>" },
            // <3>
            { "command": "y", "name": "b" }, { "name": "c d" }
        ]
    }, // <4>
    "y": "<5>"
}`},
	{TOML, Container{Path: []string{"mcp_servers"}}, "enabled", `model = "<1>" # <2>

# about a <3>
[mcp_servers.a]
command = "x" # <4>
args = [
  "<5>", # <6>
]

[mcp_servers.b]
enabled = true # <7>
url = "<8>"

[mcp_servers.b.http_headers]
X = "<9>"

[mcp_servers."c d"]
command = "y"

[tui] # <10>
theme = "<11>"
`},
	{YAML, Container{Path: []string{"extensions"}}, "enabled", `# <1>
GOOSE_MODEL: "<2>" # <3>
extensions:
  # about a <4>
  a:
    cmd: x # <5>
    args:
    - "<6>"
  b:
    enabled: true # <7>
    envs: {TOKEN: "<8>"}

  c d: {cmd: "<9>"} # <10>
# after <11>
after:
  - "<12>"
`},
	{YAML, Container{Path: []string{"mcpServers"}, List: true}, "", `name: "<1>"
mcpServers: # <2>
  # about a <3>
  - name: a
    command: "<4>"
  - command: |
      y # <5>
    name: b

  - name: c d # sixth
    command: z
# after <7>
models: ["<8>"]
`},
}

// TestUndoProperty makes edits, has someone edit the same file, and takes the
// edits back: what is left is the original with someone's edits, to the byte.
func TestUndoProperty(t *testing.T) {
	t.Parallel()
	seeds.Check(t, func(t *rapid.T) {
		file := rapid.SampledFrom(marked).Draw(t, "file")
		text := file.text
		if rapid.Bool().Draw(t, "crlf") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		if rapid.Bool().Draw(t, "bom") {
			text = "\xef\xbb\xbf" + text
		}
		if rapid.Bool().Draw(t, "no line end") {
			text = strings.TrimRight(text, "\r\n")
		}
		data := []byte(text)
		whole, err := Decode(file.format, data)
		entries := Entries(whole, file.at)
		if err != nil {
			t.Fatal(err)
		}
		var done []Change
		do := func(c Change) {
			out, c, err := Apply(file.format, data, file.at, c)
			if err != nil {
				t.Fatalf("%s %s: %v\n%s", c.Kind, c.Name, err, data)
			}
			data = out
			done = append(done, c)
		}
		do(Change{Kind: Put, Name: "mcphub", Value: Table{{"command", "/usr/bin/mcphub"}, {"args", []any{"serve", "--roots", "."}}}})
		for _, e := range entries {
			switch {
			case !rapid.Bool().Draw(t, e.Name):
			case file.key == "enabled":
				do(Change{Kind: Set, Name: e.Name, Key: file.key, Value: false})
			case file.key != "":
				do(Change{Kind: Set, Name: e.Name, Key: file.key, Value: true})
			default:
				do(Change{Kind: Remove, Name: e.Name})
			}
		}
		want := text
		edited := string(data)
		for i := range 14 {
			mark := fmt.Sprintf("<%d>", i)
			if strings.Contains(edited, mark) && rapid.Bool().Draw(t, mark) {
				with := rapid.StringMatching(`[a-zäé ]{0,40}`).Draw(t, "text")
				edited = strings.Replace(edited, mark, with, 1)
				want = strings.Replace(want, mark, with, 1)
			}
		}
		back := []byte(edited)
		for _, c := range slices.Backward(done) {
			if back, err = Undo(file.format, back, file.at, c); err != nil {
				t.Fatalf("undo %s %s: %v\n%s", c.Kind, c.Name, err, back)
			}
		}
		if string(back) != want {
			t.Fatalf("edited:\n%s\nundone:\n%s\nwant:\n%s", edited, back, want)
		}
	})
}

// TestUndoAfterRewriting has a client write its file again, as some do at
// each start: what the file means is as before.
func TestUndoAfterRewriting(t *testing.T) {
	t.Parallel()
	for _, file := range marked {
		if file.format != JSON {
			continue
		}
		data, put, err := Apply(JSON, []byte(file.text), file.at, Change{Kind: Put, Name: "mcphub", Value: hub})
		if err != nil {
			t.Fatal(err)
		}
		data, gone, err := Apply(JSON, data, file.at, Change{Kind: Remove, Name: "b"})
		if err != nil && len(file.at.Path) == 1 && file.at.Path[0] == "servers" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Decode(JSON, data)
		if err != nil {
			t.Fatal(err)
		}
		rewritten := []byte(jsonText{nl: "\n", unit: "    "}.writeValue(whole, ""))
		for _, c := range []Change{gone, put} {
			if rewritten, err = Undo(JSON, rewritten, file.at, c); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Decode(JSON, rewritten)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := Decode(JSON, []byte(file.text))
		if !sameFiles(got, want, file.at) {
			t.Errorf("got %s", rewritten)
		}
	}
}
