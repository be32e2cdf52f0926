package callertoken

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/internal/principal"
)

// TestNewest: an owner has its newest token, of whichever session, as long as that session lasts; and never another's.
func TestNewest(t *testing.T) {
	t.Parallel()
	now := time.Now()
	alice := principal.Principal{Name: "alice", Issuer: "https://login.example"}
	namesake := principal.Principal{Name: "alice", Issuer: "https://other.example"}
	table := New()
	want := func(of principal.Principal, text string) {
		t.Helper()
		got, ok := table.NewestToken(of.Key())
		if got.Reveal() != text || ok != (text != "") || ok && got.Issuer != of.Issuer {
			t.Errorf("%s has %q of %s, want %q", of, got.Reveal(), got.Issuer, text)
		}
	}
	first, second, other := table.NewHolder(alice, alice.Key()), table.NewHolder(alice, alice.Key()), table.NewHolder(namesake, namesake.Key())
	first.KeepToken("unwanted", now.Add(time.Hour))
	want(alice, "")
	table.SetWanted(true)
	first.KeepToken("a1", now.Add(time.Hour))
	want(alice, "a1")
	want(namesake, "")
	other.KeepToken("other", now.Add(9*time.Hour))
	second.KeepToken("a2", now.Add(2*time.Hour))
	first.KeepToken("replayed", now.Add(time.Minute)) // an older one of the same session
	want(alice, "a2")
	want(namesake, "other")
	second.ForgetTokens()
	second.KeepToken("late", now.Add(3*time.Hour)) // by a request that was under way as the session ended
	want(alice, "a1")
	first.ForgetTokens()
	want(alice, "")
	third := table.NewHolder(alice, alice.Key())
	third.KeepToken("expired", now.Add(-time.Second))
	want(alice, "")
	third.KeepToken("a3", now.Add(time.Hour))
	want(alice, "a3")
	table.SetWanted(false)
	want(alice, "")
	want(namesake, "")
}

// TestIsHeld: each token that a session has shown is held until the session ends or the token expires, and for its owner alone. The session finds it by its text.
func TestIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		alice := principal.Principal{Name: "alice", Issuer: "https://login.example"}
		table := New()
		table.SetWanted(true)
		first, second := table.NewHolder(alice, "alice"), table.NewHolder(alice, "alice of dev")
		show := func(h *Holder, text string, lasts time.Duration) string {
			h.KeepToken(text, now.Add(lasts))
			return h.HeldToken(text).ID
		}
		a, b, narrow := show(first, "a", time.Hour), show(first, "b", 2*time.Hour), show(second, "narrow", 3*time.Hour)
		want := func(what, owner, id string, held bool) {
			t.Helper()
			if table.IsHeld(owner, id) != held {
				t.Errorf("%s: held is %t", what, !held)
			}
		}
		want("the first", "alice", a, true)
		want("the one after it", "alice", b, true)
		want("the other owner's", "alice of dev", narrow, true)
		want("none", "alice", "", false)
		want("the other owner's, for this one", "alice", narrow, false)
		want("this one's, for the other", "alice of dev", a, false)
		want("that of no owner", "", a, false)
		if got, _ := table.NewestToken("alice"); got.Reveal() != "b" {
			t.Errorf("the newest is %q", got.Reveal())
		}
		if (*Table)(nil).IsHeld("alice", a) || second.HeldToken("a").ID != "" || (*Holder)(nil).HeldToken("a").ID != "" {
			t.Error("it is held by no table, or by another session")
		}
		second.ForgetTokens()
		want("that of a session that has ended", "alice of dev", narrow, false)
		time.Sleep(time.Hour) // no time passes in the bubble otherwise
		want("the expired", "alice", a, false)
		want("the one that lasts", "alice", b, true)
	})
}

// TestTokensAreBounded: a session holds so many tokens; those that have expired go first, then the one that ends first.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	now, table := time.Now(), New()
	table.SetWanted(true)
	h := table.NewHolder(principal.Principal{Name: "alice", Issuer: "https://login.example"}, "alice")
	held := func(text string) bool { return h.HeldToken(text).ID != "" }
	h.KeepToken("expired", now.Add(-time.Second))
	for i := range maxTokens {
		h.KeepToken(fmt.Sprint(i), now.Add(time.Hour+time.Duration(i)*time.Minute))
	}
	if held("expired") || !held("0") || len(h.tokens) != maxTokens {
		t.Errorf("%d are held, the expired one: %t, the first: %t", len(h.tokens), held("expired"), held("0"))
	}
	h.KeepToken("more", now.Add(3*time.Hour))
	h.KeepToken("more", now.Add(3*time.Hour)) // the same takes no other place
	if held("0") || !held("1") || !held("more") || len(h.tokens) != maxTokens {
		t.Errorf("%d are held, the first: %t, the second: %t, the last: %t", len(h.tokens), held("0"), held("1"), held("more"))
	}
}

// TestOfContext: the work on a request has the token of that, also if that is none.
func TestOfContext(t *testing.T) {
	t.Parallel()
	if _, ok := OfContext(t.Context()); ok {
		t.Error("work for no request has a token")
	}
	for _, id := range []string{"", "x"} {
		if got, ok := OfContext(NewContext(t.Context(), Token{ID: id})); !ok || got.ID != id {
			t.Errorf("%q, %t", got.ID, ok)
		}
	}
}

// TestWhoHasNone: the local user, no one and the client of a configured token have no token, and no key finds one.
func TestWhoHasNone(t *testing.T) {
	t.Parallel()
	table := New()
	table.SetWanted(true)
	for _, who := range []principal.Principal{{}, principal.User(), {Name: "alice"}} {
		h := table.NewHolder(who, who.Key())
		h.KeepToken("secret", time.Now().Add(time.Hour))
		if got, ok := table.NewestToken(who.Key()); ok || got.Reveal() != "" {
			t.Errorf("%s has %q", who, got.Reveal())
		}
		h.ForgetTokens()
	}
	var none *Table
	none.SetWanted(true)
	none.NewHolder(principal.Principal{Name: "a", Issuer: "b"}, "a@b").KeepToken("secret", time.Now().Add(time.Hour))
	if _, ok := none.NewestToken("a@b"); ok {
		t.Error("what is no table holds a token")
	}
}

// TestNothingShowsIt: no way to print a token prints its text. Control: what may be shown is.
func TestNothingShowsIt(t *testing.T) {
	t.Parallel()
	table := New()
	table.SetWanted(true)
	h := table.NewHolder(principal.Principal{Name: "alice", Issuer: "https://login.example"}, "alice@login.example")
	h.KeepToken("c4n4ry", time.Now().Add(time.Hour))
	token, _ := table.NewestToken("alice@login.example")
	asJSON, err := json.Marshal(token)
	shown := string(asJSON) + fmt.Sprintf("%v %+v %#v %s", token, token, token, err) + fmt.Sprintf("%+v %#v", *h, *h) + fmt.Sprintf("%+v", []any{table.of})
	if !strings.Contains(shown, "login.example") || strings.Contains(shown, "c4n4ry") {
		t.Error(shown)
	}
	if token.Reveal() != "c4n4ry" {
		t.Error("the one who asks for it has it neither")
	}
}
