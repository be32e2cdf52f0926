package hub

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/validate/policy"
)

// TestHowLongListsMayBeKept: what a child says about its lists holds towards
// the client, as long as it is true of all that is on them and of now.
func TestHowLongListsMayBeKept(t *testing.T) {
	says := func(name, tools, offers string) spec.Spec {
		return played(name, spec.ShareSession, childtest.Script{Era: "modern", Offers: offers, Replies: map[string]string{
			"tools/list":     `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],` + tools + `}`,
			"resources/list": `{"resultType":"complete","resources":[],"ttlMs":7000,"cacheScope":"public"}`, "resources/templates/list": `{"resultType":"complete","resourceTemplates":[],"ttlMs":9000,"cacheScope":"public"}`,
		}})
	}
	const announcing, silent = `{"resources":{"listChanged":true}}`, `{"tools":{},"resources":{}}`
	legacy := played("legacy", spec.ShareSession, childtest.Script{})
	for _, test := range []struct {
		name  string
		specs []spec.Spec
		after time.Duration
		tools string // ttlMs and cacheScope
		other string // of the resources
	}{
		{"one", []spec.Spec{says("a", `"ttlMs":300000,"cacheScope":"public"`, announcing)}, 0, "300000 public", "7000 public"},
		{"private", []spec.Spec{says("a", `"ttlMs":5000,"cacheScope":"private"`, announcing)}, 0, "5000 private", "7000 public"},
		{"nothing", []spec.Spec{says("a", `"x":1`, announcing)}, 0, "60000 private", "7000 public"},
		{"nonsense", []spec.Spec{says("a", `"ttlMs":"x","cacheScope":7`, announcing)}, 0, "0 private", "7000 public"},
		{"not at all", []spec.Spec{says("a", `"ttlMs":0,"cacheScope":"public"`, announcing)}, 0, "0 public", "7000 public"},
		{"two", []spec.Spec{says("a", `"ttlMs":300000,"cacheScope":"public"`, announcing), says("b", `"ttlMs":3000,"cacheScope":"public"`, announcing)}, 0, "3000 public", "7000 public"},
		{"one private", []spec.Spec{says("a", `"ttlMs":300000,"cacheScope":"public"`, announcing), says("b", `"ttlMs":400000,"cacheScope":"private"`, announcing)}, 0, "300000 private", "7000 public"},
		{"with one that says nothing", []spec.Spec{says("a", `"ttlMs":300000,"cacheScope":"public"`, announcing), legacy}, 0, "60000 private", "7000 public"},
		{"the handshake's era alone", []spec.Spec{legacy}, 0, "60000 private", "60000 private"},
		{"announced later", []spec.Spec{says("a", `"ttlMs":300000,"cacheScope":"public"`, announcing)}, time.Minute, "300000 public", "7000 public"},
		{"grown old", []spec.Spec{says("a", `"ttlMs":300000,"cacheScope":"public"`, silent)}, 4 * time.Second, "296000 public", "3000 public"},
		{"over", []spec.Spec{says("a", `"ttlMs":300000,"cacheScope":"public"`, silent)}, 20 * time.Second, "280000 public", "0 public"},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, test.specs, func(t *testing.T, h *Hub, _ *stage) {
				c, _ := enterModern(t, h, `{}`)
				c.raw("tools/list", `{}`)
				synctest.Wait()
				time.Sleep(test.after) // of the bubble
				for method, want := range map[string]string{"tools/list": test.tools, "resources/list": test.other} {
					got := []byte(c.raw(method, `{}`))
					scope, _ := jsonrpc.String(jsonrpc.Get(got, "cacheScope"))
					if said := fmt.Sprintf("%s %s", jsonrpc.Get(got, "ttlMs"), scope); said != want {
						t.Errorf("%s: %s, want %s", method, said, want)
					}
				}
				if scope, _ := jsonrpc.String(jsonrpc.Get([]byte(c.raw("server/discover", `{}`)), "cacheScope")); scope != "private" {
					t.Errorf("server/discover is %s", scope)
				}
			})
		})
	}
}

// TestKeepingWithRulesForSome: lists that differ from one to the next are kept for no one else.
func TestKeepingWithRulesForSome(t *testing.T) {
	server := played("a", spec.ShareAll, childtest.Script{Era: "modern", Replies: map[string]string{"tools/list": `{"resultType":"complete","tools":[],"ttlMs":7000,"cacheScope":"public"}`}})
	play(t, []spec.Spec{server}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, `{}`)
		scope := func() string {
			s, _ := jsonrpc.String(jsonrpc.Get([]byte(c.raw("tools/list", `{}`)), "cacheScope"))
			return s
		}
		if got := scope(); got != "public" {
			t.Errorf("control, without rules: %s", got)
		}
		rule := policy.Rule{Name: "bob", Then: policy.Deny, Servers: []string{"a"}, People: policy.People{Principals: []string{"bob"}}}
		if _, err := h.Apply(t.Context(), under(t, h.currentConfiguration().Settings, policy.Policy{Rules: []policy.Rule{rule}})); err != nil {
			t.Fatal(err)
		}
		if got := scope(); got != "private" {
			t.Errorf("with a rule for bob: %s", got)
		}
	})
}
