package config

import (
	"slices"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/config/keys"
)

// TestSandbox: what an entry asks for is taken or refused, with its line, and never
// taken for something else.
func TestSandbox(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		sandbox string
		want    string // of the first problem; "" none
		bad     bool   // it is an error
		mode    string
		network Network
	}{
		{`"required"`, "", false, "required", Network{Word: "on"}},
		{`"auto"`, "", false, "auto", Network{Word: "on"}},
		{`{"read": ["a"]}`, "", false, keys.SandboxDefault, Network{Word: "on"}},
		{`{"mode": "auto", "network": "off"}`, "", false, "auto", Network{Word: "off"}},
		{`{"mode": "auto", "network": [443]}`, "", false, "auto", Network{Ports: []int{443}}},
		{`"reqired"`, `found "reqired", want`, true, keys.SandboxDefault, Network{Word: "on"}},
		{`true`, "want", true, keys.SandboxDefault, Network{Word: "on"}},
		{`{"mod": "required"}`, `unknown key "mod"`, true, keys.SandboxDefault, Network{Word: "on"}},
		{`{"network": "of"}`, "want", true, keys.SandboxDefault, Network{Word: "on"}},
		{`{"network": []}`, "the list is empty", true, keys.SandboxDefault, Network{Word: "on"}},
		{`{"network": [0]}`, "1 to 65535", true, keys.SandboxDefault, Network{Word: "on"}},
		{`{"network": ["443"]}`, "want", true, keys.SandboxDefault, Network{Word: "on"}},
		{`{"network": 443}`, "want", true, keys.SandboxDefault, Network{Word: "on"}},
		{`{"sockets": true}`, "want", true, keys.SandboxDefault, Network{Word: "on"}},
		{`{"widen": "no"}`, "want", true, keys.SandboxDefault, Network{Word: "on"}},
		{`{"filesystem": {"allowWrite": ["."]}, "network": {"allowedDomains": ["x"]}}`, "runs without this sandbox", false, keys.SandboxDefault, Network{Word: "on"}},
	} {
		f, problems, err := Parse("hub.json", []byte("{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"sandbox\": "+tc.sandbox+"}}}"), envOf(nil))
		if err != nil {
			t.Errorf("%s: %v", tc.sandbox, err)
			continue
		}
		if tc.want == "" && len(problems) > 0 || tc.want != "" && (len(problems) == 0 || !strings.Contains(problems[0].String(), tc.want) || problems[0].Line != 2) {
			t.Errorf("%s: %v", tc.sandbox, problems)
		}
		s := f.Server("a")
		if (s.Err != nil) != tc.bad || s.Sandbox.Mode != tc.mode || s.Sandbox.Network.Word != tc.network.Word || !slices.Equal(s.Sandbox.Network.Ports, tc.network.Ports) {
			t.Errorf("%s: %+v, error %v", tc.sandbox, s.Sandbox, s.Err)
		}
	}
	for mode, bad := range map[string]bool{"required": true, "auto": false} {
		f, problems, err := Parse("hub.json", []byte(`{"mcpServers": {"a": {"url": "https://a.example/", "sandbox": "`+mode+`"}}}`), envOf(nil))
		if err != nil || len(problems) != 1 || (f.Server("a").Err != nil) != bad {
			t.Errorf("a server elsewhere, %s: %v %v", mode, problems, err)
		}
	}
}

// TestSandboxOfWhoSaysNone: an entry that says no mode has that of the whole file, if it
// is a process that mcphub did not bring. Nothing is taken for something else.
func TestSandboxOfWhoSaysNone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		top, entry string
		mode       string
		nothing    bool // the entry says nothing about a sandbox
	}{
		{``, `"command": "x"`, keys.SandboxDefault, true},
		{`"sandbox": "auto",`, `"command": "x"`, "auto", true},
		{`"sandbox": "required",`, `"command": "x"`, "required", true},
		{`"sandbox": "off",`, `"command": "x"`, "off", true},
		{`"sandbox": "required",`, `"command": "x", "sandbox": null`, "required", true},
		{`"sandbox": "required",`, `"command": "x", "sandbox": "off"`, "off", false},
		{`"sandbox": "off",`, `"command": "x", "sandbox": "auto"`, "auto", false},
		{`"sandbox": "auto",`, `"command": "x", "sandbox": {"read": ["a"]}`, "auto", false},
		{`"sandbox": "required",`, `"builtin": "files"`, "off", true},
		{`"sandbox": "off",`, `"builtin": "files", "sandbox": "auto"`, "auto", false},
		{`"sandbox": "required",`, `"url": "https://a.example/"`, "off", true},
	} {
		f, problems, err := Parse("hub.json", []byte("{"+tc.top+`"mcpServers": {"a": {`+tc.entry+`}}}`), envOf(nil))
		if err != nil || len(problems) > 0 {
			t.Errorf("%s %s: %v %v", tc.top, tc.entry, problems, err)
			continue
		}
		if s := f.Server("a"); s.Sandbox.Mode != tc.mode || s.Sandbox.Default != tc.nothing {
			t.Errorf("%s %s: %+v", tc.top, tc.entry, s.Sandbox)
		}
	}
	for _, text := range []string{`{"sandbx": "required"}`, `{"sandbox": "on"}`, `{"sandbox": {"mode": "required"}}`} {
		if f, problems, err := Parse("hub.json", []byte(text), envOf(nil)); err == nil {
			t.Errorf("%s is read, with %v: %+v", text, problems, f)
		}
	}
	f, problems, err := Parse("hub.json", []byte(`{"sandbox": "required", "mcpServers": {"a": {"command": "x"}}}`), envOf(nil), Environment([]string{"MCPHUB_SANDBOX=auto"})...)
	if err != nil || len(problems) > 0 || f.Server("a").Sandbox.Mode != "auto" {
		t.Errorf("by the environment: %v %v", problems, err)
	}
}
