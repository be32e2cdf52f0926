package issuers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"mcphub/cmd/mcphub/internal/oauth"
)

const (
	fetchTime = 10 * time.Second // for the metadata or the keys of an issuer
	fetchSize = 1 << 20          // bytes of them
	fetchRest = 5 * time.Second  // between two fetches of one address
)

// An issuer is one Issuer with its keys, once they were asked for.
type issuer struct {
	Issuer
	client *http.Client
	spare  *sparing // of client

	changed func() // is told when other keys count than before

	mu    sync.Mutex // held while the metadata is fetched, so that a single goroutine does
	ready *oidc.IDTokenVerifier
	keys  *keySet // nil until ready is set

	toldMu sync.Mutex // guards what follows
	told   time.Time  // when the last message about that went out
	away   bool
}

func newIssuer(i Issuer, client *http.Client, changed func()) *issuer {
	bounded := *client
	bounded.Timeout = fetchTime
	transport := client.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	spare := &sparing{next: transport, last: map[string]time.Time{}, now: time.Now}
	bounded.Transport = spare
	bounded.CheckRedirect = func(*http.Request, []*http.Request) error {
		return errors.New("it redirects, and neither metadata nor keys are taken from elsewhere")
	}
	return &issuer{Issuer: i, client: &bounded, spare: spare, changed: changed}
}

// tokenVerifier returns what verifies tokens of the issuer. It fetches the metadata if no
// one has done so with success.
func (i *issuer) tokenVerifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ready != nil {
		return i.ready, nil
	}
	address, err := i.keysAddress(ctx)
	if err != nil {
		return nil, err
	}
	i.keys = &keySet{address: address, fetch: i.fetchJSON, changed: i.changed, now: time.Now, fetching: make(chan struct{}, 1)}
	i.ready = oidc.NewVerifier(i.URL, i.keys, &oidc.Config{ClientID: i.Audience, SupportedSigningAlgs: algorithms})
	return i.ready, nil
}

// refresh asks the issuer if its keys do not hold for so much longer, or if it could not be asked before. asked is false if that is not due:
// of an issuer that no token has named yet nothing is known.
func (i *issuer) refresh(ctx context.Context, ahead time.Duration) (asked bool, err error) {
	i.mu.Lock()
	keys := i.keys
	i.mu.Unlock()
	if keys != nil {
		return keys.refresh(ctx, ahead)
	}
	i.toldMu.Lock()
	away := i.away
	i.toldMu.Unlock()
	if away {
		_, err = i.tokenVerifier(ctx)
	}
	return away, err
}

// tellEvery is how often it is told at most that an issuer cannot be asked.
const tellEvery = time.Minute

// noteAsked has tell called if the issuer cannot be asked, and when it can again.
func (i *issuer) noteAsked(err error, tell func(issuer string, err error)) {
	if tell == nil {
		return
	}
	i.toldMu.Lock()
	now := time.Now()
	say := err == nil && i.away || err != nil && (!i.away || now.Sub(i.told) >= tellEvery)
	if i.away = err != nil; say {
		i.told = now
	}
	i.toldMu.Unlock()
	if say {
		tell(i.URL, err)
	}
}

// keysAddress finds where the issuer publishes its keys: by RFC 8414, else by OpenID
// Connect Discovery.
func (i *issuer) keysAddress(ctx context.Context) (string, error) {
	at, err := url.Parse(i.URL)
	if err != nil {
		return "", err
	}
	var failed error
	for _, address := range oauth.MetadataAddresses(at) {
		var metadata struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		if _, err := i.fetchJSON(ctx, address, &metadata); err != nil {
			failed = err
			continue
		}
		if metadata.Issuer != i.URL {
			return "", fmt.Errorf("%s is of the issuer %q", address, metadata.Issuer)
		}
		keys, err := url.Parse(metadata.Keys)
		if err != nil || keys.Host == "" || keys.Scheme != "https" && !strings.HasPrefix(i.URL, "http:") {
			return "", fmt.Errorf("%s names no https address of keys", address)
		}
		return metadata.Keys, nil
	}
	return "", failed
}

// sparing fetches one address no more than once in a while, so that the one who
// sends tokens with unknown keys cannot have the hub flood an issuer, and reads
// no more than is decent.
type sparing struct {
	next http.RoundTripper
	now  func() time.Time
	mu   sync.Mutex
	last map[string]time.Time // when each address was fetched; there are a few
}

func (s *sparing) RoundTrip(req *http.Request) (*http.Response, error) {
	address := req.URL.String()
	s.mu.Lock()
	now := s.now()
	soon := now.Sub(s.last[address]) < fetchRest
	if !soon {
		s.last[address] = now
	}
	s.mu.Unlock()
	if soon {
		return nil, fmt.Errorf("it was asked less than %s ago; try again later", fetchRest)
	}
	resp, err := s.next.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, fetchSize), resp.Body}
	}
	return resp, err
}
