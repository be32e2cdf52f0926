package issuers

import (
	"context"
	"encoding/json"
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

	mu    sync.Mutex // held while the metadata is fetched, so that a single goroutine does
	ready *oidc.IDTokenVerifier
}

func newIssuer(i Issuer, client *http.Client) *issuer {
	bounded := *client
	bounded.Timeout = fetchTime
	transport := client.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	bounded.Transport = &sparing{next: transport, last: map[string]time.Time{}}
	bounded.CheckRedirect = func(*http.Request, []*http.Request) error {
		return errors.New("it redirects, and neither metadata nor keys are taken from elsewhere")
	}
	return &issuer{Issuer: i, client: &bounded}
}

// tokenVerifier returns what verifies tokens of the issuer. It fetches the metadata if no
// one has done so with success.
func (i *issuer) tokenVerifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ready != nil {
		return i.ready, nil
	}
	keys, err := i.keysAddress(ctx)
	if err != nil {
		return nil, err
	}
	// The keys outlive this request: only the client of the context is used.
	set := oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), i.client), keys)
	i.ready = oidc.NewVerifier(i.URL, set, &oidc.Config{ClientID: i.Audience, SupportedSigningAlgs: algorithms})
	return i.ready, nil
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
		if err := i.fetchJSON(ctx, address, &metadata); err != nil {
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

func (i *issuer) fetchJSON(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := i.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// sparing fetches one address no more than once in a while, so that the one who
// sends tokens with unknown keys cannot have the hub flood an issuer, and reads
// no more than is decent.
type sparing struct {
	next http.RoundTripper
	mu   sync.Mutex
	last map[string]time.Time // when each address was fetched; there are a few
}

func (s *sparing) RoundTrip(req *http.Request) (*http.Response, error) {
	address := req.URL.String()
	s.mu.Lock()
	now := time.Now()
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
