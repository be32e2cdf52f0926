package call

import (
	"testing"

	"mcphub/hub/approval"
	"mcphub/internal/jsonrpc"
)

// An approval is spent on the digest that it was given for. Another session, another server, another method and other params have another
// digest. The test is of the digest itself: a question names the server in its text as well.
func TestTheDigestOfACall(t *testing.T) {
	t.Parallel()
	digest := func(session, child, method, params string) approval.Digest {
		c := &Call{sender: &Sender{ID: session}, target: &requestTarget{child: child, method: method}}
		c.buildParams = func([]byte, []jsonrpc.Edit) [][]byte { return [][]byte{[]byte(params)} }
		return c.approvalRequest().Digest
	}
	one := digest("session", "kid", "prompts/get", `{}`)
	if one != digest("session", "kid", "prompts/get", `{}`) {
		t.Error("the same call has two digests")
	}
	for what, other := range map[string]approval.Digest{
		"session": digest("another", "kid", "prompts/get", `{}`),
		"server":  digest("session", "two", "prompts/get", `{}`),
		"method":  digest("session", "kid", "resources/read", `{}`),
		"params":  digest("session", "kid", "prompts/get", `{"a":1}`),
	} {
		if one == other {
			t.Errorf("another %s has the same digest", what)
		}
	}
}
