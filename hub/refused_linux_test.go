package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children/sandbox"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// fails runs a shell command that fails, and has the child say so in one of its ways.
func (c *testClient) fails(command string, code int) (result, fault string) {
	c.t.Helper()
	args, _ := json.Marshal(map[string]any{"Name": command, "Code": code})
	resp, err := c.conn.Call(context.Background(), "tools/call", []byte(toolCall("kid__shell", string(args))))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(resp.Result), string(resp.Error)
}

// TestARefusalOfTheKernelIsTold: an answer by which a confined child tells that the kernel
// has refused it something carries a line that says so, and no command that opens anything.
// All else is as the child sent it.
func TestARefusalOfTheKernelIsTold(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin") // what else is on it is open, too
	var kept map[string]string
	c, d := confinedHub(t, sandbox.Required, func(v *validate.Config, d map[string]string) {
		kept = d
		v.Protected = []string{d["box"]}
		v.Policy = policy.Policy{Rules: []policy.Rule{
			{Name: "docs", Then: policy.Allow, Paths: &policy.PathRule{Within: d["docs"], Roles: []access.Role{access.Read}}},
		}}
	})
	c.handshake(`{"roots":{"listChanged":true}}`)
	if err := os.Symlink(d["out"], filepath.Join(d["a"], "link")); err != nil {
		t.Fatal(err)
	}
	out, refused := d["out"]+"/file", "mcphub: the kernel holds this server, and "
	for _, tc := range []struct{ command, says string }{
		{"cat " + out, "'" + out + "' is closed to it. Ask your user to run `mcphub why`."},
		{"cat " + d["a"] + "/link/file", "'" + d["a"] + "/link/file' is closed to it. "},
		{"mkdir " + d["out"] + "/new", "'" + d["out"] + "/new' is closed to it for writing. "},
		{"touch " + d["docs"] + "/file", "'" + d["docs"] + "/file' is closed to it for writing. "},
		{"cat " + kept["box"] + "/file", "is closed to all servers, unless a person opens it. "},
		{"echo Permission denied; false", ""},
		{"cat " + d["a"] + "/missing", ""},
		{"echo Permission denied: " + d["a"] + "/file; false", ""},
	} {
		result, fault := c.fails(tc.command, 1)
		plain, _ := c.fails(tc.command, 0)
		var b struct {
			Content []struct{ Type, Text string }
			IsError bool
		}
		if err := json.Unmarshal([]byte(result), &b); err != nil || fault != "" || !b.IsError {
			t.Errorf("%s: %v: %s%s", tc.command, err, result, fault)
			continue
		}
		switch {
		case tc.says == "" && len(b.Content) == 1:
		case tc.says == "" || len(b.Content) != 2 || !strings.HasPrefix(b.Content[1].Text, refused) || !strings.Contains(b.Content[1].Text, tc.says):
			t.Errorf("%s: %+v", tc.command, b.Content)
		}
		block, _ := json.Marshal(b.Content[0].Text)
		if !strings.Contains(plain, string(block)) || strings.Contains(plain, refused) != (tc.says != "") { // whether it is an error plays no part
			t.Errorf("%s: without an error the child says %s, and with one %s", tc.command, plain, block)
		}
		_, fault = c.fails(tc.command, 2)
		e := jsonrpc.ParseError([]byte(fault))
		if e.Code != -32000 || strings.Contains(e.Message, refused) == (tc.says == "") || !strings.Contains(e.Message, tc.says) {
			t.Errorf("%s: %s", tc.command, fault)
		}
	}
	status, err := json.Marshal(c.hub.Status())
	if err != nil || !strings.Contains(string(status), fmt.Sprintf(`"kernelRefused":15,"kernelRefusedLast":%q`, kept["box"]+"/file")) {
		t.Errorf("status says %s", status)
	}
	if !strings.Contains(string(status), fmt.Sprintf(`"opens":{"read":[%q`, d["docs"])) || !strings.Contains(string(status), `"network":"on","sockets":"off"}`) {
		t.Errorf("status says %s", status)
	}
	if report := c.rootsReport(); strings.Contains(report, "opens") {
		t.Errorf("a model is told %s", report)
	}
}

// TestWhoIsNotConfinedIsNotExplained: an error of a server that nothing holds is as it
// was sent, whatever it speaks of.
func TestWhoIsNotConfinedIsNotExplained(t *testing.T) {
	c, d := confinedHub(t, sandbox.Off, nil)
	c.handshake(`{"roots":{"listChanged":true}}`)
	for code := 1; code <= 2; code++ {
		result, fault := c.fails("echo "+d["out"]+"/file: Permission denied; false", code)
		if strings.Contains(result+fault, "mcphub") || !strings.Contains(result+fault, "Permission denied") {
			t.Errorf("%s%s", result, fault)
		}
	}
}
