package remote

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/jsonrpc"
)

// A Supply gives headers that change, such as a token that a program prints. The zero Supply gives none.
type Supply struct {
	Headers func(ctx context.Context) (map[string]string, error) // is called by one goroutine at a time
	TTL     time.Duration                                        // how long they hold
}

// supply keeps the headers of a Supply.
type supply struct {
	from Supply
	jobs *jobs
	now  atomic.Pointer[supplied] // nil: none are there yet

	mu      sync.Mutex
	running *supplying // nil: no renewal is
	end     context.CancelFunc
}

// supplied are headers, and until when they hold.
type supplied struct {
	headers map[string]string
	until   time.Time
}

// supplying is a renewal that is under way.
type supplying struct {
	done chan struct{}
	got  *supplied
	err  error
}

// getHeaders returns headers that hold.
func (s *supply) getHeaders(ctx context.Context) (*supplied, error) {
	if h := s.now.Load(); h != nil && time.Now().Before(h.until) {
		return h, nil
	}
	return s.renewHeaders(ctx, nil)
}

// renewHeaders returns headers that hold and are not used. One renewal serves all who wait, and goes on if they give up.
func (s *supply) renewHeaders(ctx context.Context, used *supplied) (*supplied, error) {
	s.mu.Lock()
	if h := s.now.Load(); h != nil && h != used && time.Now().Before(h.until) {
		s.mu.Unlock()
		return h, nil
	}
	r := s.running
	if r == nil {
		r = &supplying{done: make(chan struct{})}
		on, end := context.WithCancel(context.WithoutCancel(ctx))
		s.running, s.end = r, end
		if !s.jobs.startJob(func() { s.runProgram(on, r) }) {
			s.running = nil
			end()
			s.mu.Unlock()
			return nil, jsonrpc.ErrClosed
		}
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.got, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *supply) runProgram(ctx context.Context, r *supplying) {
	headers, err := s.from.Headers(ctx)
	if r.err = err; err == nil {
		r.got = &supplied{headers, time.Now().Add(s.from.TTL)}
		s.now.Store(r.got)
	}
	s.mu.Lock()
	s.end()
	s.running = nil
	s.mu.Unlock()
	close(r.done)
}

// stopRenewal ends a renewal that is under way.
func (s *supply) stopRenewal() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		s.end()
	}
}

// suppliedKey is the key of the headers in the context of the request that they are for.
type suppliedKey struct{}

// resupplied sends a request again with other headers if the server refuses the ones that it had.
type resupplied struct {
	supply *supply
	static map[string]string // of hub.json; those of the Supply count for more
	next   http.RoundTripper
}

// RoundTrip sends one request.
func (t *resupplied) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	used, _ := r.Context().Value(suppliedKey{}).(*supplied)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || used == nil || adviceOn(resp).unsent {
		return resp, err
	}
	now, err := t.supply.renewHeaders(r.Context(), used)
	switch {
	case err != nil:
		return addAdvice(resp, r, advice{text: err.Error()}), nil
	case maps.Equal(now.headers, used.headers):
		return addAdvice(resp, r, advice{text: "headersFrom prints the headers that it refuses, again"}), nil
	}
	again := r.Clone(context.WithValue(r.Context(), suppliedKey{}, now))
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return resp, nil
		}
	}
	drainRest(resp.Body)
	for name, value := range used.headers {
		if setOn(again, name) == value { // else the connection has set it otherwise
			unsetHeader(again, name)
			if own := t.ownHeader(name); own != "" {
				setHeader(again, name, own)
			}
		}
	}
	for name, value := range now.headers {
		if was := setOn(again, name); was == "" || was == t.ownHeader(name) {
			setHeader(again, name, value)
		}
	}
	resp, err = t.next.RoundTrip(again)
	if err == nil && resp.StatusCode == http.StatusUnauthorized && adviceOn(resp) == (advice{}) {
		resp = addAdvice(resp, again, advice{text: "it refuses the headers of headersFrom, and new ones too"})
	}
	return resp, err
}

// ownHeader returns what hub.json says a header is.
func (t *resupplied) ownHeader(name string) string {
	for have, value := range t.static {
		if strings.EqualFold(have, name) {
			return value
		}
	}
	return ""
}

// setHeader sets a header of hub.json or of a Supply.
func setHeader(r *http.Request, name, value string) {
	if strings.EqualFold(name, "Host") {
		r.Host = value
		return
	}
	r.Header.Set(name, value)
}

func setOn(r *http.Request, name string) string {
	if strings.EqualFold(name, "Host") {
		return r.Host
	}
	return r.Header.Get(name)
}

func unsetHeader(r *http.Request, name string) {
	if strings.EqualFold(name, "Host") {
		r.Host = ""
		return
	}
	r.Header.Del(name)
}

// addAdvice returns an answer with advice on it.
func addAdvice(resp *http.Response, sent *http.Request, a advice) *http.Response {
	if resp.Request != nil {
		sent = resp.Request // with all its headers, which no error shows
	}
	resp.Request = sent.WithContext(context.WithValue(sent.Context(), adviceKey{}, a))
	return resp
}

// isPlainHeader reports a header of requests that holds nothing secret; the others are of hub.json, of a Supply or of a Login.
func isPlainHeader(name string) bool {
	switch name {
	case "Accept", "Content-Type", "Content-Length", "User-Agent", "Last-Event-Id":
		return true
	}
	return strings.HasPrefix(name, "Mcp-")
}

// shortestHidden is the length below which a value is no secret, and would be found in words.
const shortestHidden = 8

// hideSecrets takes out of a text what the request has sent as a secret: servers quote what they were sent.
func hideSecrets(text string, r *http.Request) string {
	if r == nil {
		return text
	}
	for name, values := range r.Header {
		if isPlainHeader(name) {
			continue
		}
		for _, value := range values {
			for _, word := range append([]string{value}, strings.Fields(value)...) {
				if len(word) >= shortestHidden {
					text = strings.ReplaceAll(text, word, "[redacted]")
				}
			}
		}
	}
	return text
}
