package principal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
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
		if diff := cmp.Diff(tc.p, Of(tc.text, issuers)); diff != "" {
			t.Errorf("%s: %s", tc.text, diff)
		}
	}
	if got := Of("@login.example", issuers); got.Issuer != "" {
		t.Errorf("%+v: an issuer vouches for somebody without a name", got)
	}
}
