package config

import (
	"slices"
	"strings"
	"testing"
)

// TestSandbox: what an entry asks for is taken or refused, with its line, and never
// taken for something else.
func TestSandbox(t *testing.T) {
	for _, tc := range []struct {
		sandbox string
		want    string // of the first problem; "" none
		bad     bool   // it is an error
		mode    string
		network Network
	}{
		{`"required"`, "", false, "required", Network{Word: "on"}},
		{`"auto"`, "", false, "auto", Network{Word: "on"}},
		{`{"read": ["a"]}`, "", false, "off", Network{Word: "on"}},
		{`{"mode": "auto", "network": "off"}`, "", false, "auto", Network{Word: "off"}},
		{`{"mode": "auto", "network": [443]}`, "", false, "auto", Network{Ports: []int{443}}},
		{`"reqired"`, `found "reqired", want`, true, "off", Network{Word: "on"}},
		{`true`, "want", true, "off", Network{Word: "on"}},
		{`{"mod": "required"}`, `unknown key "mod"`, true, "off", Network{Word: "on"}},
		{`{"network": "of"}`, "want", true, "off", Network{Word: "on"}},
		{`{"network": []}`, "the list is empty", true, "off", Network{Word: "on"}},
		{`{"network": [0]}`, "1 to 65535", true, "off", Network{Word: "on"}},
		{`{"network": ["443"]}`, "want", true, "off", Network{Word: "on"}},
		{`{"network": 443}`, "want", true, "off", Network{Word: "on"}},
		{`{"sockets": true}`, "want", true, "off", Network{Word: "on"}},
		{`{"widen": "no"}`, "want", true, "off", Network{Word: "on"}},
		{`{"filesystem": {"allowWrite": ["."]}, "network": {"allowedDomains": ["x"]}}`, "runs without this sandbox", false, "off", Network{Word: "on"}},
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
