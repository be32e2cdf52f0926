package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcphub/children/childtest"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
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

// TestWhoeverWaitsIsTold: the client of a request that waits for a server to start
// hears of it, where it gave a token.
func TestWhoeverWaitsIsTold(t *testing.T) {
	for method, members := range forEachTarget {
		if method == "resources/read" {
			continue // whose it is can be told when all have started: it waits for no one of them
		}
		t.Run(method, func(t *testing.T) {
			play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Library: true, StartDelay: 2 * time.Second})}, func(t *testing.T, h *Hub, _ *stage) {
				c, _ := enter(t, h)
				c.handshake(`{}`)
				c.raw(method, `{"_meta":{"progressToken":"mine"},`+members+`}`)
				if len(c.progress) == 0 {
					t.Fatal("it was told nothing")
				}
				if got := <-c.progress; !strings.Contains(got, `"mine"`) || !strings.Contains(got, "starting kid") {
					t.Error(got)
				}
			})
		})
	}
}

// TestNoChildSeesATokenOfAClient: tokens for progress are the hub's own towards
// children, for one of a client may be that of another.
func TestNoChildSeesATokenOfAClient(t *testing.T) {
	for method, members := range forEachTarget {
		t.Run(method, func(t *testing.T) {
			play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Library: true})}, func(t *testing.T, h *Hub, s *stage) {
				c, _ := enter(t, h)
				c.handshake(`{}`)
				c.raw(method, `{"_meta":{"progressToken":"mine"},`+members+`}`)
				sent := s.last(method)
				if sent == "" || strings.Contains(sent, "mine") || jsonrpc.Get(jsonrpc.Get([]byte(sent), "_meta"), "progressToken") == nil {
					t.Errorf("the child was sent %s", sent)
				}
			})
		})
	}
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
