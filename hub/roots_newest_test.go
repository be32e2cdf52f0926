package hub

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/childtest"
	"mcphub/children/spec"
)

// TestWhatWaitedIsJudgedByTheNewestRoots tests R5 for a call that waits for its child: the
// roots that are withdrawn meanwhile are not open to it.
func TestWhatWaitedIsJudgedByTheNewestRoots(t *testing.T) {
	kept, withdrawn := t.TempDir(), t.TempDir()
	play(t, []spec.Spec{played("slow", spec.ShareSession, childtest.Script{StartDelay: 5 * time.Second})}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h, kept, withdrawn)
		c.handshake(declared)
		c.tagged(s, "slow", "before") // it is known, and runs
		restarted := make(chan error, 1)
		go func() {
			_, err := h.Restart(context.Background(), "slow")
			restarted <- err
		}()
		synctest.Wait()
		answers := map[string]chan string{}
		for tag, dir := range map[string]string{"gone": withdrawn, "kept": kept} {
			answer := make(chan string, 1)
			answers[tag] = answer
			go func() {
				msg, bad := text(c.raw("tools/call", strings.Replace(pathCall(dir+"/x", tag), "kid__", "slow__", 1)))
				if bad {
					answer <- msg
				}
				close(answer)
			}()
		}
		time.Sleep(time.Second)
		synctest.Wait() // both wait for the child, which starts again
		if _, live := s.count("slow"); live != 1 || s.who("kept") != nil {
			t.Fatal("the calls do not wait for a child that starts")
		}
		c.change(kept)
		if msg := <-answers["gone"]; !strings.Contains(msg, "outside the allowed roots") || s.who("gone") != nil {
			t.Errorf("a root that was withdrawn while the call waited is open to it: %q, %v", msg, s.who("gone"))
		}
		if msg := <-answers["kept"]; msg != "" || s.who("kept") == nil {
			t.Errorf("control: inside of what is left: %q", msg)
		}
		if err := <-restarted; err != nil {
			t.Error(err)
		}
	})
}

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
