package httpfront

import (
	"testing"
	"testing/synctest"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/internal/principal"
)

// If there is no room for another session, the one that has been idle longest
// makes it, if that was for a minute; one token of several has three quarters of
// the places, and only its own sessions make room for it then.
func TestWhichSessionMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := map[string]admission.Token{"a": {Name: "a", Secret: "1"}, "b": {Name: "b", Secret: "2"}}
		f, err := New(newFakeHub(), FrontOptions{Sessions: 4, Idle: time.Hour, Tokens: []admission.Token{tokens["a"], tokens["b"]}})
		if err != nil {
			t.Fatal(err)
		}
		open := func(id, owner string) *FrontSession {
			time.Sleep(time.Second)
			session := newFrontSession(id, admission.Caller{Principal: principal.Principal{Name: owner}, Basis: admission.Basis(tokens[owner])}, 4, &f.slow)
			if f.enterSession(session) != nil {
				return nil
			}
			return session
		}
		alive := func(want ...*FrontSession) {
			t.Helper()
			for _, session := range want {
				if session.ctx.Err() != nil || f.sessions[session.id] != session {
					t.Errorf("session %s was ended", session.id)
				}
			}
			if len(f.sessions) != len(want) {
				t.Errorf("there are %d sessions, want %d", len(f.sessions), len(want))
			}
		}
		a1, a2, a3 := open("a1", "a"), open("a2", "a"), open("a3", "a")
		if open("a4", "a") != nil {
			t.Error("one token took all places")
		}
		b1 := open("b1", "b")
		for _, session := range []*FrontSession{a1, a2, a3, b1} {
			session.enterConnection(isPost)
		}
		if open("b2", "b") != nil {
			t.Error("there were more sessions than may be")
		}
		for _, session := range []*FrontSession{a2, a3, b1} {
			time.Sleep(time.Second)
			session.leaveConnection(isPost)
		} // a1 is used now, and rests later than the others
		time.Sleep(2 * time.Minute)
		a1.leaveConnection(isPost)
		time.Sleep(59 * time.Second)
		b2 := open("b2", "b")
		if b2 == nil || a2.ctx.Err() == nil {
			t.Fatal("the session that was idle longest did not make room")
		}
		alive(a1, a3, b1, b2)
		a3.enterConnection(isPost) // used: no one takes its place
		b3 := open("b3", "b")
		alive(a1, a3, b2, b3) // b1 was next
		a5 := open("a5", "a")
		alive(a3, b2, b3, a5) // and then a1, a minute after its last use
		if open("b4", "b") != nil {
			t.Error("a session that is used, or was a moment ago, made room")
		}
		a3.leaveConnection(isPost)
		time.Sleep(59 * time.Minute)
		b2.enterConnection(isPost)
		b2.leaveConnection(isPost)
		time.Sleep(2 * time.Minute)
		f.sweepIdle()
		alive(b2)
		f.forgetSession(b2)
		f.forgetSession(a3) // which was ended before
		b2.enterConnection(isPost)
		b2.leaveConnection(isPost) // a connection that ends late
		if len(f.sessions) != 0 || len(f.owned) != 0 || len(f.shares) != 0 || len(f.idle.byPrincipal) != 0 {
			t.Errorf("left: %v %v %v", f.sessions, f.owned, f.idle.byPrincipal)
		}
		for _, session := range []*FrontSession{a1, a2, a3, a5, b1, b2, b3} {
			session.closeSession()
		}
	})
}
