package hub

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// A swapping child lists what its file says, and tells about no change.
func swapping(t *testing.T, replies map[string]string) (kid spec.Spec, swap func(tool string)) {
	t.Helper()
	defs := filepath.Join(t.TempDir(), "defs")
	swap = func(tool string) {
		if err := os.WriteFile(defs, []byte(`{"name":"`+tool+`","inputSchema":{"type":"object"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	swap("old")
	return played("kid", spec.ShareSession, childtest.Script{Defs: defs, Quiet: true, Replies: replies}), swap
}

// TestQuietListIsRenewed: a list of whose changes the server does not tell is read again when a client asks for it,
// behind the answer, and once in half a minute at most. The client is told about what has changed.
func TestQuietListIsRenewed(t *testing.T) {
	kid, swap := swapping(t, nil)
	play(t, []spec.Spec{kid}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		if !c.listed("kid__old") {
			t.Fatal("it is not listed")
		}
		synctest.Wait() // the list is read behind that answer
		swap("new")
		time.Sleep(time.Second)
		c.raw("tools/list", `{}`)
		time.Sleep(10 * time.Second)
		if c.listed("kid__new") {
			t.Error("it was read again within half a minute")
		}
		time.Sleep(time.Minute)
		c.raw("tools/list", `{}`)
		time.Sleep(time.Second)
		if !c.listed("kid__new") || c.listed("kid__old") {
			t.Error("the former list stands")
		}
	})
}

// TestTheNoticeComesBeforeTheAnswer: if a server says that its list has changed before it answers, its client is told before it
// gets the answer, once, and the list that it asks for then is the new one.
func TestTheNoticeComesBeforeTheAnswer(t *testing.T) {
	specs := []spec.Spec{played("kid", spec.ShareSession, childtest.Script{}), played("other", spec.ShareSession, childtest.Script{})}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		if !c.listed("kid__echo") || !c.listed("other__echo") {
			t.Fatal("they are not listed")
		}
		for i, asks := range []bool{true, true, false, true} {
			name := fmt.Sprint("more", i)
			began := time.Now()
			c.raw("tools/call", toolCall("kid__change", `{"name":"`+name+`"}`))
			if len(c.notes) != 1 || time.Since(began) != 0 {
				t.Errorf("%s: told %d times before the answer, which took %s", name, len(c.notes), time.Since(began))
			}
			if asks && !c.listed("kid__"+name) {
				t.Errorf("%s: the former list is shown", name)
			}
			if time.Sleep(time.Minute); len(c.notes) != 1 {
				t.Errorf("%s: told %d times", name, len(c.notes))
			}
			for len(c.notes) > 0 {
				<-c.notes
			}
		}
	})
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enterModern(t, h, `{}`)
		c.raw("tools/list", `{}`)
		end, ended := c.listen(`{"toolsListChanged":true}`)
		c.said()
		for i, asks := range []bool{true, true, false, true} {
			name := fmt.Sprint("more", i)
			c.raw("tools/call", toolCall("kid__change", `{"name":"`+name+`"}`))
			if len(c.notes) != 1 {
				t.Errorf("%s: a stream is told %d times before the answer", name, len(c.notes))
			}
			if asks && !strings.Contains(c.raw("tools/list", `{}`), "kid__"+name) {
				t.Errorf("%s: a stream is told, and the former list is shown", name)
			}
			time.Sleep(time.Minute)
			if all := c.said(); len(all) != 1 {
				t.Errorf("%s: a stream is told %q", name, all)
			}
		}
		end(errors.New("enough"))
		<-ended
	})
}
