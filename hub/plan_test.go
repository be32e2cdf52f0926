package hub

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/rootsmgr"
)

// What PlanReload says is what Apply does, also where only the roots of a child change.
func TestPlan(t *testing.T) {
	placed := scripted("placed", childtest.Script{})
	placed.Args = append(slices.Clone(placed.Args), "${roots}")
	kid, goes := scripted("kid", childtest.Script{}), scripted("goes", childtest.Script{})
	shared := scripted("shared", childtest.Script{AskRoots: true})
	shared.Share, shared.Cwd = spec.ShareAll, t.TempDir()
	one, two := t.TempDir(), t.TempDir()
	config := func(root string, specs ...spec.Spec) Config {
		cfg := testConfig(t, specs...)
		cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: root}}}
		return cfg
	}
	h := runHub(t, config(one, kid, goes, placed, shared))
	c := connect(t, h)
	c.handshake(`{}`)
	c.raw("tools/list", `{}`)
	for _, name := range []string{"kid", "goes", "placed", "shared"} {
		c.raw("tools/call", toolCall(name+"__echo", `{}`))
	}
	before := map[string]int{}
	for _, name := range []string{"kid", "placed", "shared"} {
		before[name] = pid(t, h, name)
	}

	next := config(two, other(kid, "x"), placed, shared, scripted("comes", childtest.Script{}))
	next.Disabled = []string{"goes"}
	next.Children[1].Exclude = []string{"echo"}
	plan, err := h.PlanReload(next)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range plan {
		got = append(got, fmt.Sprintf("%s %s %d unknown=%t %s", s.Server, s.Change, s.Processes, s.Unknown, s.Why))
		if s.Server == "placed" && (!slices.Equal(s.Vanish, []string{"placed__echo"}) || len(s.Appear) > 0 || s.Tools == 0) {
			t.Errorf("%+v", s)
		}
	}
	want := `kid restarts 1 unknown=true 
placed restarts 1 unknown=false it is started with the roots, which are others
shared stays 0 unknown=false 
comes starts 0 unknown=true 
goes stops 1 unknown=false disabled`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if pid(t, h, "kid") != before["kid"] {
		t.Error("the plan has changed something")
	}

	apply(t, h, next)
	c.raw("tools/call", toolCall("kid__echo", `{}`))
	c.raw("tools/call", toolCall("placed__progress", `{"Steps":1}`))
	c.raw("tools/call", toolCall("shared__echo", `{}`))
	for name, restarts := range map[string]bool{"kid": true, "placed": true, "shared": false} {
		if now := pid(t, h, name); (now != before[name]) != restarts {
			t.Errorf("%s: %d became %d", name, before[name], now)
		}
	}
	if _, err := h.PlanReload(Config{}); err == nil {
		t.Error("a plan without a Checker")
	}
}
