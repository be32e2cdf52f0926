package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func sealed(t testing.TB, s *Sealer, purpose, binding string, payload []byte) string {
	t.Helper()
	token, err := s.Seal(purpose, []byte(binding), at.Add(time.Minute), payload)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestOpensWhatItSealed(t *testing.T) {
	t.Parallel()
	s := NewRandom()
	for _, payload := range []string{"", "x", strings.Repeat("long ", 1000)} {
		token := sealed(t, s, "roots", "call", []byte(payload))
		if strings.ContainsAny(token, "+/= ") {
			t.Errorf("%q is not safe everywhere", token)
		}
		got, err := s.Open("roots", []byte("call"), at, token)
		if err != nil || string(got) != payload {
			t.Errorf("Open = %q, %v", got, err)
		}
	}
}

// Each of these opens when nothing is changed, so it is the change that is
// refused.
func TestRefusesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	s, other := NewRandom(), NewRandom()
	token := sealed(t, s, "roots", "call", []byte("payload"))
	open := func(s *Sealer, purpose, binding, token string, now time.Time) error {
		_, err := s.Open(purpose, []byte(binding), now, token)
		return err
	}
	if err := open(s, "roots", "call", token, at); err != nil {
		t.Fatalf("control: %v", err)
	}
	for name, tc := range map[string]struct {
		s                       *Sealer
		purpose, binding, token string
		now                     time.Time
		want                    error
	}{
		"another hub's":   {other, "roots", "call", token, at, ErrForged},
		"another purpose": {s, "parked", "call", token, at, ErrForged},
		"another call":    {s, "roots", "cell", token, at, ErrForged},
		"moved border":    {s, "root", "scall", token, at, ErrForged},
		"expired":         {s, "roots", "call", token, at.Add(time.Minute), ErrExpired},
		"expired, forged": {other, "roots", "call", token, at.Add(time.Minute), ErrForged},
		"cut":             {s, "roots", "call", token[:len(token)-4], at, ErrForged},
		"empty":           {s, "roots", "call", "", at, ErrForged},
		"padded":          {s, "roots", "call", token + "=", at, ErrForged},
		"line end":        {s, "roots", "call", token + "\n", at, ErrForged},
		"too long":        {s, "roots", "call", strings.Repeat("A", MaxToken+1), at, ErrForged},
		"zero Sealer":     {&Sealer{}, "roots", "call", token, at, ErrForged},
		"no Sealer":       {nil, "roots", "call", token, at, ErrForged},
	} {
		if err := open(tc.s, tc.purpose, tc.binding, tc.token, tc.now); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	if err := open(s, "roots", "call", token, at.Add(time.Minute-time.Millisecond)); err != nil {
		t.Errorf("in its last millisecond: %v", err)
	}
}

func TestEveryBitCounts(t *testing.T) {
	t.Parallel()
	s := NewRandom()
	raw, _ := base64.RawURLEncoding.DecodeString(sealed(t, s, "p", "b", []byte("payload")))
	for i := range len(raw) * 8 {
		bad := bytes.Clone(raw)
		bad[i/8] ^= 1 << (i % 8)
		if _, err := s.Open("p", []byte("b"), at, base64.RawURLEncoding.EncodeToString(bad)); !errors.Is(err, ErrForged) {
			t.Errorf("bit %d flipped: %v", i, err)
		}
	}
}

func TestSharedSecret(t *testing.T) {
	t.Parallel()
	secret := []byte(strings.Repeat("s", MinSecret))
	a, err := New(secret)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := New(secret)
	if _, err := b.Open("p", nil, at, sealed(t, a, "p", "", []byte("x"))); err != nil {
		t.Errorf("a hub with the same secret: %v", err)
	}
	c, _ := New(append(secret, 's'))
	if _, err := c.Open("p", nil, at, sealed(t, a, "p", "", []byte("x"))); !errors.Is(err, ErrForged) {
		t.Errorf("a hub with another secret: %v", err)
	}
	if _, err := New(secret[1:]); err == nil {
		t.Error("a short secret was taken")
	}
}

func TestTwoTokensOfOnePayloadDiffer(t *testing.T) {
	t.Parallel()
	s := NewRandom()
	first, second := sealed(t, s, "p", "b", []byte("x")), sealed(t, s, "p", "b", []byte("x"))
	if first == second {
		t.Error("they are the same: whoever carries them can tell")
	}
}

func TestPayloadIsBounded(t *testing.T) {
	t.Parallel()
	s := NewRandom()
	const most = MaxToken/4*3 - (1 + saltSize + stampSize + tagSize)
	if MaxToken != 1048576 {
		t.Errorf("a token has %d bytes at most", MaxToken)
	}
	if _, err := s.Seal("p", nil, at, make([]byte, most+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("error %v", err)
	}
	token := sealed(t, s, "p", "", make([]byte, most))
	if got, err := s.Open("p", nil, at, token); err != nil || len(got) != most || len(token) != MaxToken {
		t.Errorf("%d bytes in a token of %d: %v", len(got), len(token), err)
	}
}

// TestTooShort: what is shorter than any token is refused before it is taken apart.
func TestTooShort(t *testing.T) {
	t.Parallel()
	s := NewRandom()
	for n := range 1 + saltSize + stampSize + tagSize + 1 {
		raw := make([]byte, n)
		if n > 0 {
			raw[0] = format
		}
		if _, err := s.Open("p", nil, at, base64.RawURLEncoding.EncodeToString(raw)); !errors.Is(err, ErrForged) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestLongNames: a purpose and a binding of any length are sealed.
func TestLongNames(t *testing.T) {
	t.Parallel()
	s, long := NewRandom(), strings.Repeat("long", 100)
	for _, of := range [][2]string{{long, ""}, {"", long}, {long, long}} {
		if got, err := s.Open(of[0], []byte(of[1]), at, sealed(t, s, of[0], of[1], []byte("x"))); err != nil || string(got) != "x" {
			t.Errorf("%d and %d bytes: %q %v", len(of[0]), len(of[1]), got, err)
		}
	}
}

// FuzzOpen holds that nothing opens but what was sealed, and that nothing that
// is brought makes it panic.
func FuzzOpen(f *testing.F) {
	s, _ := New([]byte(strings.Repeat("s", MinSecret)))
	genuine := sealed(f, s, "p", "b", []byte("payload")) // each process that fuzzes makes its own
	f.Add(genuine, "p", "b")
	f.Add(genuine[1:], "p", "b")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, token, purpose, binding string) {
		got, err := s.Open(purpose, []byte(binding), at, token)
		if err == nil && (string(got) != "payload" || purpose != "p" || binding != "b") {
			t.Errorf("%q opened for %q, %q as %q", token, purpose, binding, got)
		}
	})
}

// A secret is replaced without a break: of several the first seals and all open, and one that is
// taken out opens nothing more. What was sealed before there was one opens as well.
func TestSecretsAreReplaced(t *testing.T) {
	t.Parallel()
	secret := func(b byte) []byte { return bytes.Repeat([]byte{b}, MinSecret) }
	s := NewRandom()
	random := sealed(t, s, "p", "b", []byte("random"))
	opens := func(token string) bool {
		_, err := s.Open("p", []byte("b"), at, token)
		return err == nil
	}
	follow := func(secrets ...[]byte) {
		t.Helper()
		if err := s.Follow(secrets...); err != nil {
			t.Fatal(err)
		}
	}
	follow(secret('a'))
	old := sealed(t, s, "p", "b", []byte("old"))
	follow(secret('b'), secret('a'))
	fresh := sealed(t, s, "p", "b", []byte("new"))
	if err := s.Follow(secret('c')[1:]); err == nil || !opens(fresh) {
		t.Errorf("a short one was taken: %v", err)
	}
	for _, token := range []string{random, old, fresh} {
		if !opens(token) {
			t.Errorf("%.10s does not open", token)
		}
	}
	other, err := New(secret('b'))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open("p", []byte("b"), at, fresh); err != nil {
		t.Errorf("the first does not seal: %v", err)
	}
	follow(secret('b'))
	if opens(old) || !opens(fresh) || !opens(random) {
		t.Error("the one that was taken out opens, or another does not")
	}
}
