package issuers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	keysMost  = time.Hour      // that keys hold, whatever their issuer says
	keysLeast = time.Minute    // the same, if it says less
	keysAway  = 24 * time.Hour // that keys count while their issuer cannot be asked
)

// A keySet has the keys of one issuer. They are fetched when the first token comes, when a token names none of them, and by
// refresh when they have held for as long as the issuer says.
type keySet struct {
	address string
	fetch   func(ctx context.Context, address string, into any) (http.Header, error)
	changed func() // is told when other keys count than before
	now     func() time.Time

	fetching chan struct{} // has room for the one who fetches

	mu      sync.Mutex // guards what follows
	keys    []jose.JSONWebKey
	text    []byte    // of keys, as JSON
	fetched time.Time // when they were; zero: never
	holds   time.Time // until then they need not be fetched
	tried   time.Time // when it was tried last
	failed  error     // why that failed; nil: it did not
}

// askedKey is for the context of a verification: an *askError that is told if the issuer could not be asked.
type askedKey struct{}

// askError is why an issuer could not be asked for its keys. go-oidc hands on no error of a key set as one.
type askError struct{ err error }

var errNoKey = errors.New("no key of its issuer has signed it")

// VerifySignature returns the payload of a token that one of the keys has signed.
func (s *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	jws, err := jose.ParseSignedCompact(token, signatureAlgorithms)
	if err != nil {
		return nil, errors.New("it is no token that is signed")
	}
	if payload, ok := verifyBy(s.currentKeys(), jws); ok {
		return payload, nil
	}
	// Its key may be new.
	if err := s.fetchKeys(ctx, context.WithoutCancel(ctx)); err != nil { // others may wait for it
		if asked, ok := ctx.Value(askedKey{}).(*askError); ok {
			asked.err = err
		}
		return nil, err
	}
	if payload, ok := verifyBy(s.currentKeys(), jws); ok {
		return payload, nil
	}
	return nil, errNoKey
}

func verifyBy(keys []jose.JSONWebKey, jws *jose.JSONWebSignature) (payload []byte, ok bool) {
	id := jws.Signatures[0].Header.KeyID
	for i := range keys {
		if id != "" && keys[i].KeyID != id {
			continue
		}
		if payload, err := jws.Verify(&keys[i]); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// currentKeys returns the keys that count now: none if the issuer could not be asked for too long.
func (s *keySet) currentKeys() []jose.JSONWebKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetched.IsZero() || s.now().Sub(s.fetched) > keysAway {
		return nil
	}
	return s.keys
}

// refresh fetches the keys if they do not hold for so much longer, or if that has failed before; asked is false if not.
func (s *keySet) refresh(ctx context.Context, ahead time.Duration) (asked bool, err error) {
	s.mu.Lock()
	due := s.failed != nil || !s.fetched.IsZero() && !s.now().Add(ahead).Before(s.holds)
	s.mu.Unlock()
	if !due {
		return false, nil
	}
	return true, s.fetchKeys(ctx, ctx)
}

// fetchKeys fetches the keys, unless that was tried a moment ago: then it returns how that went. It waits for its turn until ctx ends,
// and for the issuer until fetching ends.
func (s *keySet) fetchKeys(ctx, fetching context.Context) error {
	select {
	case s.fetching <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.fetching }()
	s.mu.Lock()
	soon, failed := s.now().Sub(s.tried) < fetchRest, s.failed
	s.mu.Unlock()
	if soon {
		return failed
	}
	var set jose.JSONWebKeySet
	header, err := s.fetch(fetching, s.address, &set)
	var text []byte
	if err == nil {
		text, err = json.Marshal(set)
	}
	s.mu.Lock()
	now := s.now()
	s.tried, s.failed = now, err
	other := false
	if err == nil {
		other = !s.fetched.IsZero() && !slices.Equal(text, s.text)
		s.keys, s.text, s.fetched, s.holds = set.Keys, text, now, now.Add(holdsFor(header))
	}
	s.mu.Unlock()
	if other {
		s.changed()
	}
	return err
}

// holdsFor returns for how long keys hold that came with these headers (RFC 9111): as their issuer says, an hour at most.
func holdsFor(h http.Header) time.Duration {
	for _, part := range strings.Split(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return keysLeast
		case "max-age":
			if n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32); err == nil {
				age, _ := strconv.ParseInt(h.Get("Age"), 10, 32) // spent in caches before
				return min(max(time.Duration(n-max(age, 0))*time.Second, keysLeast), keysMost)
			}
		}
	}
	if expires, err := http.ParseTime(h.Get("Expires")); err == nil {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			return min(max(expires.Sub(date), keysLeast), keysMost)
		}
	}
	return keysMost
}

// fetchJSON fetches one document of the issuer, and returns the headers that it came with.
func (i *issuer) fetchJSON(ctx context.Context, address string, into any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := i.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return resp.Header, json.NewDecoder(resp.Body).Decode(into)
}
