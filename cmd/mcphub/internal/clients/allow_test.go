package clients

import (
	"slices"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
)

// shapes are entries of a hub.json whose sandbox stands in many ways.
var shapes = map[string]string{
	"none":            "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\" // it\n    }\n  }\n}\n",
	"none, one line":  `{"mcpServers": {"a": {"command": "x"}}}`,
	"none, commas":    "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"}, // last\n\t},\n}\n",
	"auto":            "{\n  \"mcpServers\": {\n    \"a\": {\n      \"sandbox\": \"auto\", // held\n      \"command\": \"x\"\n    }\n  }\n}\n",
	"required, short": `{"mcpServers": {"a": {"command": "x", "sandbox": "required"}}}`,
	"object":          "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\",\n      \"sandbox\": {\n        \"mode\": \"auto\",\n        \"network\": \"off\" // not needed\n      }\n    }\n  }\n}\n",
	"has read":        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\", \"sandbox\": {\"read\": [\"~/one\", /* two */ \"~/two\"]}}\n  }\n}\n",
	"has both":        "{\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"x\",\r\n      \"sandbox\": {\r\n        \"read\": [\r\n          \"~/one\", // the first\r\n          \"~/two\" // the second\r\n        ],\r\n        \"write\": [\"~/three\"]\r\n      }\r\n    }\r\n  }\r\n}\r\n",
	"another name":    "\xef\xbb\xbf{\n  // from an editor\n  \"servers\": {\n    \"a\": {\n      \"command\": \"x\"\n    }\n  }\n}",
}

// What is allowed and revoked leaves hub.json as it was, to the byte. In between config reads the path.
func TestAllowAndRevokeInHub(t *testing.T) {
	t.Parallel()
	for name, text := range shapes {
		for _, key := range []string{MayRead, MayWrite} {
			const path = "~/a b/$${x}\n"
			with, err := AllowInHub("hub.json", []byte(text), "a", key, path)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			list := listOf(t, with, key)
			if last := len(list) - 1; last < 0 || list[last] != "~/a b/${x}\n" || len(listOf(t, []byte(text), key)) != last {
				t.Errorf("%s: %s: %q in\n%s", name, key, list, with)
			}
			back, err := RevokeInHub("hub.json", with, "a", key, len(list)-1)
			if err != nil || string(back) != text {
				t.Errorf("%s: %s: %v\n%s\nbecame\n%s\nand then\n%s", name, key, err, text, with, back)
			}
		}
		rule := edit.Table{{Name: "name", Value: "r"}, {Name: "then", Value: "allow"}, {Name: "if", Value: edit.Table{{Name: "servers", Value: []any{"a"}}}}}
		with, err := AddRuleToHub("hub.json", []byte(text), 0, rule)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		more, err := AddRuleToHub("hub.json", with, 0, rule.With("name", "first"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f, _, err := config.Parse("hub.json", more, allSet); err != nil || len(f.Policy.Rules) != 2 || f.Policy.Rules[0].Name != "first" {
			t.Errorf("%s: %v:\n%s", name, err, more)
		}
		less, err := RemoveRuleFromHub("hub.json", more, 0)
		if err != nil || string(less) != string(with) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, less, with)
		}
		if back, err := RemoveRuleFromHub("hub.json", less, 0); err != nil || string(back) != text {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, back, text)
		}
	}
}

func listOf(t *testing.T, text []byte, key string) []string {
	t.Helper()
	f, _, err := config.Parse("hub.json", text, allSet)
	if err != nil {
		t.Fatal(err)
	}
	if key == MayWrite {
		return f.Server("a").Sandbox.Write
	}
	return f.Server("a").Sandbox.Read
}

// What cannot be changed alone is an error, and names the server.
func TestAllowInHubRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no such server": `{"mcpServers": {"b": {"command": "x"}}}`,
		"twice":          `{"mcpServers": {"a": {"command": "x", "sandbox": "auto", "sandbox": "auto"}}}`,
		"null":           `{"mcpServers": {"a": {"command": "x", "sandbox": {"read": null}}}}`,
		"a text":         `{"mcpServers": {"a": {"command": "x", "sandbox": {"read": "~/x"}}}}`,
		"no JSON":        `{"mcpServers": {"a": `,
	} {
		if out, err := AllowInHub("hub.json", []byte(text), "a", MayRead, "~/v"); err == nil && !slices.Contains(listOf(t, out, MayRead), "~/v") {
			t.Errorf("%s: %s", name, out)
		} else if err == nil && strings.Contains(name, "such") {
			t.Errorf("%s is no error", name)
		}
	}
}

// A tool that is switched off and on leaves hub.json as it was, to the byte. In between config reads that it is held back. What cannot be
// switched alone is an error.
func TestSwitchToolInHub(t *testing.T) {
	t.Parallel()
	for name, text := range shapes {
		off, err := SwitchToolInHub("hub.json", []byte(text), "a", "git_reset", true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f, _, err := config.Parse("hub.json", off, allSet)
		if err != nil || !slices.Equal(f.Server("a").Tools.Exclude, []string{"git_reset"}) {
			t.Errorf("%s: %v\n%s", name, err, off)
		}
		if again, err := SwitchToolInHub("hub.json", off, "a", "git_reset", true); err != nil || string(again) != string(off) {
			t.Errorf("%s: off twice: %v\n%s", name, err, again)
		}
		if on, err := SwitchToolInHub("hub.json", off, "a", "git_reset", false); err != nil || string(on) != text {
			t.Errorf("%s: %v\n%s\nbecame\n%s", name, err, text, on)
		}
	}
	const with = `{"mcpServers": {"a": {"command": "x", "tools": {"include": ["one"], "exclude": ["two", "three", "two"]}}}}`
	for _, c := range []struct {
		tool string
		off  bool
		want string // of tools; "": an error
	}{
		{"two", false, `{"include": ["one", "two"], "exclude": ["three"]}`},
		{"four", false, `{"include": ["one", "four"], "exclude": ["two", "three", "two"]}`},
		{"one", true, `{"include": ["one"], "exclude": ["two", "three", "two", "one"]}`},
		{"t*", true, ""}, {"", true, ""}, {"${x}", false, ""}, {`a\b`, true, ""},
	} {
		got, err := SwitchToolInHub("hub.json", []byte(with), "a", c.tool, c.off)
		if want := `{"mcpServers": {"a": {"command": "x", "tools": ` + c.want + `}}}`; c.want == "" && err == nil || c.want != "" && (err != nil || string(got) != want) {
			t.Errorf("%s: %v\n%s", c.tool, err, got)
		}
	}
	if _, err := SwitchToolInHub("hub.json", []byte(with), "b", "two", true); err == nil {
		t.Error("a tool of no server is switched")
	}
}
