package validate

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mcphub/validate/policy"
)

// everydayCalls are honest calls to the tools of real servers, as models send them.
type everydayCalls struct {
	Servers map[string]struct {
		Command []string
		Tools   map[string]json.RawMessage // their inputSchema
	}
	Calls []struct {
		Server, Tool string
		Args         json.RawMessage
	}
}

// TestHonestCalls: of calls.json, and of those values of honest.json that name no place outside, at most 0.5 % are refused.
func TestHonestCalls(t *testing.T) {
	t.Parallel()
	var everyday everydayCalls
	raw, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &everyday); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	children := []ChildConfig{{Name: "child", Command: "some-server"}}
	for name, s := range everyday.Servers {
		children = append(children, ChildConfig{Name: name, Command: s.Command[0], CommandArgs: s.Command[1:]})
	}
	c, err := NewChecker(Config{Children: children, FS: everydayDisk{w.home}, Home: w.home, Getenv: w.getenv})
	w.must(err)
	tools := make(map[string]*Tool)
	refused := make(map[string]int)
	rootsView := w.view()
	judge := func(tool *Tool, name, args string) {
		s, err := c.Scan(tool, []byte(args))
		if err != nil {
			t.Errorf("%s %s: %v", name, args, err)
			return
		}
		if v := c.Judge(s, w.where(), rootsView); v.Decision != policy.Allow {
			refused[name]++
			t.Logf("refused: %s %s: %q as %s: %s", name, args, v.Deciding.Value, v.Deciding.How, v.Deciding.Code)
		}
	}
	for _, call := range everyday.Calls {
		name := call.Server + " " + call.Tool
		tool := tools[name]
		if tool == nil {
			def, err := json.Marshal(map[string]any{"name": call.Tool, "inputSchema": everyday.Servers[call.Server].Tools[call.Tool]})
			w.must(err)
			tool, err = c.PrepareTool(call.Server, "", def)
			w.must(err)
			tools[name] = tool
		}
		judge(tool, name, strings.ReplaceAll(string(call.Args), "{project}", w.project))
	}
	all := len(everyday.Calls)
	unknown := w.tool(c, "", anyTool)
	for _, e := range honestValues(t) {
		if e.Debatable == "" {
			judge(unknown, e.Kind, strings.ReplaceAll(string(e.Args), "{R}", w.project))
			all++
		}
	}
	n := 0
	for _, k := range refused {
		n += k
	}
	t.Logf("%d of %d honest calls to %d servers are refused", n, all, len(everyday.Servers))
	if len(everyday.Calls) < 800 || len(everyday.Servers) < 15 {
		t.Errorf("only %d calls to %d servers", len(everyday.Calls), len(everyday.Servers))
	}
	if n*200 > all {
		t.Errorf("%d of %d honest calls are refused", n, all)
	}
}
