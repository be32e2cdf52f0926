package hub

import (
	"fmt"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// TestADeniedCallChangesNothing: the roots that come with a call over HTTP are judged by before a
// child is given them, so a denial starts no child again that others use.
func TestADeniedCallChangesNothing(t *testing.T) {
	served, other, out := t.TempDir(), t.TempDir(), t.TempDir()
	child := played("kid", spec.ShareSession, childtest.Script{})
	child.Args = []string{"${roots}"}
	play(t, []spec.Spec{child}, func(t *testing.T, h *Hub, s *stage) {
		w, _, stop := bubbleWeb(t, h, HTTPOptions{})
		defer stop()
		c := w.modern("", served)
		denied := func(root, path, tag string) bool {
			t.Helper()
			c.roots = []string{root}
			_, denied := c.call("kid__echo", fmt.Sprintf(`{"path":%q,"tag":%q}`, path, tag))
			return denied
		}
		if denied(served, served+"/x", "first") {
			t.Fatal("inside of its roots: denied")
		}
		before, _ := s.count("kid")
		for _, root := range []string{other, served, other, served} {
			if !denied(root, out+"/x", "denied") {
				t.Fatal("outside of the roots: allowed")
			}
		}
		if n, _ := s.count("kid"); n != before || s.who("denied") != nil {
			t.Errorf("denied calls started the child %d times", n-before)
		}
		if denied(other, other+"/x", "second") {
			t.Error("control: inside of the other roots: denied")
		}
		if n, _ := s.count("kid"); n != before+1 {
			t.Errorf("control: a call that is allowed starts it anew: %d times", n-before)
		}
	})
}
