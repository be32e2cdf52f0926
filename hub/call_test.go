package hub

import (
	"fmt"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// These tests hold what is the same for everything that a client may ask of a child.

// forEachTarget are a call of a tool and the other requests, none with a path in it,
// as members of params.
var forEachTarget = map[string]string{
	"tools/call":          `"name":"kid__echo","arguments":{}`,
	"prompts/get":         `"name":"kid__greet"`,
	"resources/read":      `"uri":"note://1"`,
	"completion/complete": `"ref":{"type":"ref/prompt","name":"kid__greet"},"argument":{"name":"path","value":""}`,
}

// TestRootsChooseTheProcessOfEveryRequest: where roots decide which process serves
// a client they are asked for first, with a path in the request or without.
func TestRootsChooseTheProcessOfEveryRequest(t *testing.T) {
	dir := t.TempDir()
	for _, share := range []spec.Share{spec.ShareRoots, spec.ShareAll} { // the second is the control
		for method, members := range forEachTarget {
			if method == "completion/complete" {
				continue // nothing can be asked while something is typed
			}
			t.Run(fmt.Sprint(share, " ", method), func(t *testing.T) {
				play(t, []spec.Spec{played("kid", share, childtest.Script{Library: true})}, func(t *testing.T, h *Hub, _ *stage) {
					c, _ := enterModern(t, h, rootsCaps, dir)
					want := 1
					if share == spec.ShareRoots {
						want = 2
					}
					if _, sent := c.full(method, `{`+members+`}`, nil); sent != want {
						t.Errorf("sent %d times, want %d", sent, want)
					}
				})
			})
		}
	}
}
