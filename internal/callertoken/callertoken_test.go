package callertoken

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
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
		got, ok := table.Newest(of.Key())
		if got.Reveal() != text || ok != (text != "") || ok && got.Issuer != of.Issuer {
			t.Errorf("%s has %q of %s, want %q", of, got.Reveal(), got.Issuer, text)
		}
	}
	first, second, other := table.Holder(alice), table.Holder(alice), table.Holder(namesake)
	first.Show("unwanted", now.Add(time.Hour))
	want(alice, "")
	table.Want(true)
	first.Show("a1", now.Add(time.Hour))
	want(alice, "a1")
	want(namesake, "")
	other.Show("other", now.Add(9*time.Hour))
	second.Show("a2", now.Add(2*time.Hour))
	first.Show("replayed", now.Add(time.Minute)) // an older one of the same session
	want(alice, "a2")
	want(namesake, "other")
	second.Forget()
	second.Show("late", now.Add(3*time.Hour)) // by a request that was under way as the session ended
	want(alice, "a1")
	first.Forget()
	want(alice, "")
	third := table.Holder(alice)
	third.Show("expired", now.Add(-time.Second))
	want(alice, "")
	third.Show("a3", now.Add(time.Hour))
	want(alice, "a3")
	table.Want(false)
	want(alice, "")
	want(namesake, "")
}

// TestWhoHasNone: the local user, no one and the client of a configured token have no token, and no key finds one.
func TestWhoHasNone(t *testing.T) {
	t.Parallel()
	table := New()
	table.Want(true)
	for _, who := range []principal.Principal{{}, principal.User(), {Name: "alice"}} {
		h := table.Holder(who)
		h.Show("secret", time.Now().Add(time.Hour))
		if got, ok := table.Newest(who.Key()); ok || got.Reveal() != "" {
			t.Errorf("%s has %q", who, got.Reveal())
		}
		h.Forget()
	}
	var none *Table
	none.Want(true)
	none.Holder(principal.Principal{Name: "a", Issuer: "b"}).Show("secret", time.Now().Add(time.Hour))
	if _, ok := none.Newest("a@b"); ok {
		t.Error("what is no table holds a token")
	}
}

// TestNothingShowsIt: no way to print a token prints its text. Control: what may be shown is.
func TestNothingShowsIt(t *testing.T) {
	t.Parallel()
	table := New()
	table.Want(true)
	h := table.Holder(principal.Principal{Name: "alice", Issuer: "https://login.example"})
	h.Show("c4n4ry", time.Now().Add(time.Hour))
	token, _ := table.Newest("alice@login.example")
	asJSON, err := json.Marshal(token)
	shown := string(asJSON) + fmt.Sprintf("%v %+v %#v %s", token, token, token, err) + fmt.Sprintf("%+v %#v", *h, *h) + fmt.Sprintf("%+v", []any{table.of})
	if !strings.Contains(shown, "login.example") || strings.Contains(shown, "c4n4ry") {
		t.Error(shown)
	}
	if token.Reveal() != "c4n4ry" {
		t.Error("the one who asks for it has it neither")
	}
}
