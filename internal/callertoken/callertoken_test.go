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

// TestNewest: a principal has its newest token, of whichever session, as long as that session lasts; and never another's.
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
	first, second, other := table.NewHolder(alice), table.NewHolder(alice), table.NewHolder(namesake)
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
	second.ForgetToken()
	second.KeepToken("late", now.Add(3*time.Hour)) // by a request that was under way as the session ended
	want(alice, "a1")
	first.ForgetToken()
	want(alice, "")
	third := table.NewHolder(alice)
	third.KeepToken("expired", now.Add(-time.Second))
	want(alice, "")
	third.KeepToken("a3", now.Add(time.Hour))
	want(alice, "a3")
	table.SetWanted(false)
	want(alice, "")
	want(namesake, "")
}

// TestIsHeld: a token is held until its session ends, shows a newer one or lets it expire, and for its principal alone.
func TestIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		alice, bob := principal.Principal{Name: "alice", Issuer: "https://login.example"}, principal.Principal{Name: "bob", Issuer: "https://login.example"}
		table := New()
		table.SetWanted(true)
		first, second := table.NewHolder(alice), table.NewHolder(alice)
		show := func(h *Holder, lasts time.Duration) uint64 {
			h.KeepToken("secret", now.Add(lasts))
			return h.token.Serial
		}
		a, b := show(first, time.Hour), show(second, 2*time.Hour)
		want := func(what string, serial uint64, held bool) {
			t.Helper()
			if table.IsHeld(alice.Key(), serial) != held {
				t.Errorf("%s: held is %t", what, !held)
			}
		}
		want("the first", a, true)
		want("the second", b, true)
		want("none", 0, false)
		if table.IsHeld(bob.Key(), a) || table.IsHeld("", a) || (*Table)(nil).IsHeld(alice.Key(), a) {
			t.Error("it is held for another principal, or by no table")
		}
		renewed := show(first, 3*time.Hour)
		want("the one before the renewed", a, false)
		want("the renewed", renewed, true)
		second.ForgetToken()
		want("the one of a session that has ended", b, false)
		time.Sleep(3 * time.Hour) // no time passes in the bubble otherwise
		want("the expired", renewed, false)
	})
}

// TestWhoHasNone: the local user, no one and the client of a configured token have no token, and no key finds one.
func TestWhoHasNone(t *testing.T) {
	t.Parallel()
	table := New()
	table.SetWanted(true)
	for _, who := range []principal.Principal{{}, principal.User(), {Name: "alice"}} {
		h := table.NewHolder(who)
		h.KeepToken("secret", time.Now().Add(time.Hour))
		if got, ok := table.NewestToken(who.Key()); ok || got.Reveal() != "" {
			t.Errorf("%s has %q", who, got.Reveal())
		}
		h.ForgetToken()
	}
	var none *Table
	none.SetWanted(true)
	none.NewHolder(principal.Principal{Name: "a", Issuer: "b"}).KeepToken("secret", time.Now().Add(time.Hour))
	if _, ok := none.NewestToken("a@b"); ok {
		t.Error("what is no table holds a token")
	}
}

// TestNothingShowsIt: no way to print a token prints its text. Control: what may be shown is.
func TestNothingShowsIt(t *testing.T) {
	t.Parallel()
	table := New()
	table.SetWanted(true)
	h := table.NewHolder(principal.Principal{Name: "alice", Issuer: "https://login.example"})
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
