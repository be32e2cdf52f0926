package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"

	"mcphub/cmd/mcphub/internal/config/keys"
)

// The reference and the schema are made from the table:
//
//	go test ./cmd/mcphub/internal/config -run Generated -update
var update = flag.Bool("update", false, "write docs/config.md and hub.schema.json anew")

const (
	page        = "../../../../docs/config.md"
	schemaFile  = "hub.schema.json"
	exampleFile = "../../../../hub.json.example"
)

func TestGeneratedReference(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	have = bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n"))
	part := regexp.MustCompile(`(?s)(<!-- generated: keys -->\n).*(<!-- end -->)`)
	if !part.Match(have) {
		t.Fatalf("%s has no generated part", page)
	}
	want := part.ReplaceAllFunc(have, func([]byte) []byte {
		return []byte("<!-- generated: keys -->\n" + markdown() + "<!-- end -->")
	})
	current(t, page, have, want)
}

func TestGeneratedSchema(t *testing.T) {
	t.Parallel()
	want, err := json.MarshalIndent(schemaOf(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	current(t, schemaFile, bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")), append(want, '\n'))
}

func current(t *testing.T, file string, have, want []byte) {
	t.Helper()
	if bytes.Equal(have, want) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the table says: go test ./cmd/mcphub/internal/config -run Generated -update", file)
	}
	if err := os.WriteFile(file, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

func markdown() string {
	var b strings.Builder
	b.WriteString("\n| key | type | default | |\n|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ").Replace
	for _, k := range keys.Describe() {
		def := k.Default
		if json.Valid([]byte(def)) {
			def = "`" + def + "`"
		}
		if k.Restart {
			k.Text += " A change takes effect after a restart."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", cell(k.Path), cell(k.Type), cell(def), cell(k.Text))
	}
	b.WriteString("\n")
	return b.String()
}

func schemaOf() map[string]any {
	s := schemaFor(keys.Table)
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "hub.json, the configuration of mcphub"
	s["allowComments"], s["allowTrailingCommas"] = true, true // for the editors that know them
	s["properties"].(map[string]any)["$schema"] = map[string]any{"type": "string"}
	return s
}

func schemaFor(s *keys.Spec) map[string]any {
	switch s.Kind {
	case keys.KindObject:
		props, required := map[string]any{}, []string{}
		for _, k := range s.Keys {
			p := schemaFor(k.Spec)
			about, _ := p["description"].(string)
			p["description"] = strings.ReplaceAll(k.Text, "`", "") + about
			p["markdownDescription"] = k.Text + about
			if k.Def != "" {
				p["default"] = json.RawMessage(k.Def)
			}
			props[k.Name] = p
			if k.Required {
				required = append(required, k.Name)
			}
		}
		out := map[string]any{"type": "object", "properties": props}
		if len(required) > 0 {
			out["required"] = required
		}
		if s.Closed {
			out["patternProperties"] = map[string]any{"^//": map[string]any{}}
			out["additionalProperties"] = false
		}
		if s.Short != "" {
			return map[string]any{"anyOf": []any{schemaFor(s.Find(s.Short).Spec), out}}
		}
		return out
	case keys.KindMap:
		return map[string]any{"type": "object", "additionalProperties": schemaFor(s.Elem)}
	case keys.KindList:
		out := map[string]any{"type": "array", "items": schemaFor(s.Elem)}
		if s.Min > 0 {
			out["minItems"] = s.Min
		}
		if s.Single {
			return map[string]any{"anyOf": []any{schemaFor(s.Elem), out}}
		}
		return out
	case keys.KindString:
		return map[string]any{"type": "string"}
	case keys.KindScalar:
		return map[string]any{"type": []string{"string", "number", "boolean", "null"}}
	case keys.KindBool:
		return map[string]any{"type": "boolean"}
	case keys.KindInt:
		return map[string]any{"type": "integer", "minimum": s.Min, "maximum": s.Max}
	case keys.KindDuration:
		about := " A bare number is milliseconds; one below 1,000 is seconds."
		if s.Millis {
			about = ""
		}
		return map[string]any{"type": []string{"string", "number"}, "description": about}
	case keys.KindSize:
		return map[string]any{"type": []string{"string", "number"}}
	case keys.KindJSON:
		return map[string]any{}
	case keys.KindPorts:
		return map[string]any{"anyOf": []any{map[string]any{"enum": s.Choices}, map[string]any{"type": "array", "items": schemaFor(s.Elem), "minItems": s.Min}}}
	}
	return map[string]any{"enum": s.Values()}
}

// TestSchemaAgrees holds the schema against what the reader takes and refuses.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("hub.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	sch, err := c.Compile("hub.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, text string
		good       bool
	}{
		{"example", string(example), true},
		{"every key", everyKey, true},
		{"args as text", `{"mcpServers": {"a": {"command": "x", "args": "y"}}}`, false},
		{"unknown key of a policy", `{"policy": {"ruls": []}}`, false},
		{"limit too high", `{"limits": {"depth": 100000}}`, false},
	} {
		std, err := hujson.Standardize([]byte(tc.text))
		if err != nil {
			t.Fatal(tc.name, err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(std))
		if err != nil {
			t.Fatal(tc.name, err)
		}
		if err := sch.Validate(v); (err == nil) != tc.good {
			t.Errorf("%s: schema says %v", tc.name, err)
		}
		_, problems, _ := Parse("hub.json", []byte(tc.text), envOf(map[string]string{"GITHUB_TOKEN": "t"}))
		if good := len(errorsOf(problems)) == 0; good != tc.good {
			t.Errorf("%s: reader says %v", tc.name, problems)
		}
	}
}
