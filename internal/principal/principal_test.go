package principal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A name that acts on the one who reads it is no one's. Control: names of all languages.
func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"alice": true, "alice@corp.example": true, "Жанна": true, "山田 太郎": true, "علی": true, "می\u200cخواهم": true, "👩\u200d💻": true,
		"a\nb": false, "a\x1b[2Jb": false, "a\u0085b": false, "a\u2028b": false, "\u202ecila": false, "a\u2066b": false, "a\u200fb": false, "a\u061cb": false, "a\xffb": false, "a\x7f": false,
	} {
		if got := CheckName(name) == ""; got != good {
			t.Errorf("%q: %t", name, got)
		}
	}
}

// TestRights: the one who differs in anything that rules look at is told apart, however the parts are written.
func TestRights(t *testing.T) {
	t.Parallel()
	all := []Principal{
		{}, User(), {Name: "alice"}, {Name: "alice", Groups: []string{"dev"}}, {Name: "alice", Groups: []string{"dev", "ops"}}, {Name: "alice", Groups: []string{"dev ops"}},
		{Name: "alice", Groups: []string{`dev" "ops`}}, {Name: "alice", Issuer: "dev"}, {Name: "alice", Issuer: "https://login.example"}, {Name: "bob"},
	}
	seen := map[string]int{}
	for i, p := range all {
		if j, had := seen[p.RightsKey()]; had {
			t.Errorf("%+v and %+v have the same", p, all[j])
		}
		seen[p.RightsKey()] = i
	}
	if (Principal{Name: "alice", Groups: []string{"dev"}}).RightsKey() != all[3].RightsKey() {
		t.Error("one principal is told apart from itself")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	issuers := []string{"https://login.example", "https://login.example/realms/a", "http://127.0.0.1:8080"}
	for _, tc := range []struct {
		p         Principal
		text, key string
		known     bool
	}{
		{Principal{}, "nobody", "", false},
		{User(), "local", "", true},
		{Principal{Name: "alice"}, "alice", "alice", true},
		{Principal{Name: "alice", Issuer: issuers[0]}, "alice@login.example", "alice@login.example", true},
		{Principal{Name: "alice@corp", Issuer: issuers[1]}, "alice@corp@login.example/realms/a", "alice@corp@login.example/realms/a", true},
		{Principal{Name: "alice", Issuer: issuers[2]}, "alice@http://127.0.0.1:8080", "alice@http://127.0.0.1:8080", true},
	} {
		if tc.p.String() != tc.text || tc.p.Key() != tc.key || tc.p.Known() != tc.known {
			t.Errorf("%+v: %q, %q, %v", tc.p, tc.p.String(), tc.p.Key(), tc.p.Known())
		}
		if diff := cmp.Diff(tc.p, Parse(tc.text, issuers)); diff != "" {
			t.Errorf("%s: %s", tc.text, diff)
		}
	}
	if got := Parse("@login.example", issuers); got.Issuer != "" {
		t.Errorf("%+v: an issuer vouches for somebody without a name", got)
	}
}
