package issuers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"mcphub/internal/principal"
)

// clock is a time that a test sets, of one that verifies.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// withClock has the keys of the issuer hold by another time. They were fetched once.
func withClock(t *testing.T, v *Verifier, token string) *clock {
	t.Helper()
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	c := &clock{}
	v.issuers[0].keys.now, v.issuers[0].spare.now = c.now, c.now
	return c
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestAnIssuerThatIsAway: of a token that may be right the error is another one than of a token that is wrong, and it is told once.
func TestAnIssuerThatIsAway(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	var told []error
	v := a.verifier()
	v.Asked = func(issuer string, err error) {
		if issuer != a.URL {
			t.Errorf("told of %s", issuer)
		}
		told = append(told, err)
	}
	good := a.token(t, nil)
	a.down.Store(true)
	for range 3 {
		if _, err := v.Verify(t.Context(), good); !errors.Is(err, principal.ErrUnreachable) {
			t.Errorf("before its metadata is known: %v", err)
		}
	}
	if len(told) != 1 || told[0] == nil {
		t.Errorf("told: %v", told)
	}
	a.down.Store(false)
	c := &clock{}
	v.issuers[0].spare.now = c.now
	c.ahead.Store(int64(time.Minute))
	v.Refresh(t.Context(), 0)
	if _, err := v.Verify(t.Context(), good); err != nil || len(told) != 2 || told[1] != nil {
		t.Errorf("when it has come: %v; told: %v", err, told)
	}
	v.Refresh(t.Context(), 0) // nothing is due
	if len(told) != 2 {
		t.Errorf("told again: %v", told)
	}
	v = a.verifier()
	c = withClock(t, v, good)
	v.Asked = func(_ string, err error) { told = append(told, err) }
	wrong := sign(t, jose.ES256, newKey(t), a.id, a.claims(nil))
	c.ahead.Store(int64(time.Minute))
	if _, err := v.Verify(t.Context(), wrong); err == nil || errors.Is(err, principal.ErrUnreachable) {
		t.Errorf("a wrong signature while the issuer is there: %v", err)
	}
	a.down.Store(true)
	told = nil
	c.ahead.Store(int64(2 * time.Minute))
	unknown := sign(t, jose.ES256, a.key, "k2", a.claims(map[string]any{"n": 1}))
	if _, err := v.Verify(t.Context(), unknown); !errors.Is(err, principal.ErrUnreachable) {
		t.Errorf("an unknown key while the issuer is away: %v", err)
	}
	if _, err := v.Verify(t.Context(), a.token(t, map[string]any{"n": 2})); err != nil {
		t.Errorf("a known key while the issuer is away: %v", err)
	}
	if _, err := v.Verify(t.Context(), a.token(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()})); err == nil || errors.Is(err, principal.ErrUnreachable) {
		t.Errorf("an expired token while the issuer is away: %v", err)
	}
	a.down.Store(false)
	a.id = "k2"
	c.ahead.Store(int64(3 * time.Minute))
	if _, err := v.Verify(t.Context(), unknown); err != nil {
		t.Errorf("when it is back: %v", err)
	}
	v.Refresh(t.Context(), time.Hour)
	if len(told) != 2 || told[0] == nil || told[1] != nil {
		t.Errorf("told: %v", told)
	}
}

// TestAKeyThatIsWithdrawn counts until the keys are fetched again, which is an hour later at most, and then neither do tokens that were
// verified by it before. While the issuer is away keys count for a day.
func TestAKeyThatIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cache string
		holds time.Duration
	}{
		"an hour without a word": {"", time.Hour},
		"as the issuer says":     {"public, max-age=600", 10 * time.Minute},
		"an hour at most":        {"max-age=86400", time.Hour},
	} {
		a := newAuthority(t)
		a.cache = c.cache
		v := a.verifier()
		stolen, other := a.token(t, nil), a.token(t, map[string]any{"n": 1})
		now := withClock(t, v, stolen)
		a.key = newKey(t)
		a.id = "k2"
		now.ahead.Store(int64(c.holds - 2*time.Minute))
		v.Refresh(t.Context(), 0)
		if _, err := v.Verify(t.Context(), stolen); err != nil || a.fetched.Load() != 1 {
			t.Errorf("%s: before it is due: %v, %d fetches", name, err, a.fetched.Load())
		}
		now.ahead.Store(int64(c.holds + time.Second))
		v.Refresh(t.Context(), 0)
		for _, token := range []string{stolen, other} {
			if _, err := v.Verify(t.Context(), token); err == nil || errors.Is(err, principal.ErrUnreachable) {
				t.Errorf("%s: a token of a key that was withdrawn: %v", name, err)
			}
		}
		if _, err := v.Verify(t.Context(), a.token(t, nil)); err != nil {
			t.Errorf("%s: the new key: %v", name, err)
		}
		a.down.Store(true)
		now.ahead.Store(int64(c.holds + 23*time.Hour))
		v.Refresh(t.Context(), 0)
		if _, err := v.Verify(t.Context(), a.token(t, map[string]any{"n": 3})); err != nil {
			t.Errorf("%s: the issuer is away for hours: %v", name, err)
		}
		now.ahead.Store(int64(c.holds + 25*time.Hour))
		if _, err := v.Verify(t.Context(), a.token(t, map[string]any{"n": 4})); !errors.Is(err, principal.ErrUnreachable) {
			t.Errorf("%s: the issuer is away for a day: %v", name, err)
		}
	}
}

func TestHoldsFor(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{}, time.Hour},
		{http.Header{"Cache-Control": {"max-age=300"}}, 5 * time.Minute},
		{http.Header{"Cache-Control": {"public", `Max-Age="300", must-revalidate`}, "Age": {"60"}}, 4 * time.Minute},
		{http.Header{"Cache-Control": {"max-age=1"}}, time.Minute},
		{http.Header{"Cache-Control": {"max-age=99999999"}}, time.Hour},
		{http.Header{"Cache-Control": {"max-age=-5"}}, time.Minute},
		{http.Header{"Cache-Control": {"max-age=soon"}}, time.Hour},
		{http.Header{"Cache-Control": {"no-store"}}, time.Minute},
		{http.Header{"Cache-Control": {"max-age=300"}, "Age": {"400"}}, time.Minute},
		{http.Header{"Date": {date.Format(http.TimeFormat)}, "Expires": {date.Add(30 * time.Minute).Format(http.TimeFormat)}}, 30 * time.Minute},
		{http.Header{"Date": {date.Format(http.TimeFormat)}, "Expires": {"0"}}, time.Hour},
	} {
		if got := holdsFor(c.header); got != c.want {
			t.Errorf("%v: %s, want %s", c.header, got, c.want)
		}
	}
}
