package hub

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mcphub/children/childtest"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// A request that is no call of a tool is asked about likewise, and what is
// asked for while somebody types is not.
func TestRequestsThatEscalate(t *testing.T) {
	approving(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Library: true})}, func(a *askedHub) {
		p := saying(no)
		c, _ := a.client(p)
		uri := fmt.Sprintf(`{"uri":"file://%s"}`, a.at("data", "one", "1.txt"))
		if e := c.refused("resources/read", uri); !strings.Contains(e.Message, "the person said no") {
			t.Errorf("refused: %v", e)
		}
		a.asks(p, 1)
		if !strings.Contains(p.asked()[0], `a request "resources/read"`) {
			t.Errorf("asked %s", p.asked()[0])
		}
		p.says = func(context.Context, *jsonrpc.Message) string { return yes }
		resp, err := c.conn.Call(a.Context(), "resources/read", []byte(uri))
		if err != nil {
			t.Fatal(err)
		}
		if e := resp.Err(); e != nil && strings.Contains(e.Message, "denied") {
			t.Errorf("allowed, and denied: %v", e)
		}
		a.asks(p, 2)
	}, func(_ *Config, v *validate.Config) {
		v.Policy.Rules = v.Policy.Rules[:4]
	})
}
