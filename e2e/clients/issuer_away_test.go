package clients

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcphub/e2e/bounds"
	"mcphub/e2e/world"
	"mcphub/internal/audit"
	"mcphub/internal/audit/trail"
)

// TestHTTPIssuerThatIsAway: while the authorization server cannot be reached a good token is answered with 503 and Retry-After, so that its client
// keeps it; the log and the record say why. Keys that are known go on counting.
func TestHTTPIssuerThatIsAway(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	issuer, token := anIssuer(t)
	gate := &atomic.Bool{} // closed: the issuer is away
	front := proxyTo(t, issuer, gate)
	const resource = "https://hub.example/mcp"
	config := w.Config(obj{"files": obj{"builtin": "files"}}, obj{"http": obj{"resource": resource, "issuers": []obj{{"issuer": front}}}})
	log := listenTo(w)
	says := func(text string) bool { return strings.Contains(log.joinLines(), text) }
	url := w.ServeHTTP(config)
	post := func(secret, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		world.Must(t, err)
		r.Header = http.Header{"Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "User-Agent": {"away-test/1"}}
		resp, err := http.DefaultClient.Do(r)
		world.Must(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	good := func(who string) string {
		return token(obj{"iss": front, "aud": resource, "sub": who, "exp": time.Now().Add(time.Hour).Unix()})
	}
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"away","version":"1"}}}`

	gate.Store(true)
	r := post(good("alice"), hello)
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || r.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("while the issuer is away: %d %v", r.StatusCode, r.Header)
	}
	if !bounds.Within(bounds.Patience, func() bool {
		return says("the issuer cannot be asked for its keys: tokens") && says("a request over HTTP was refused")
	}) {
		t.Error("the log does not say so")
	}
	gate.Store(false)
	if !bounds.Within(bounds.Patience, func() bool { r = post(good("alice"), hello); return r.StatusCode == http.StatusOK }) {
		t.Fatalf("when the issuer is back: %d", r.StatusCode)
	}
	gate.Store(true)
	if again := post(good("bob"), hello); again.StatusCode != http.StatusOK {
		t.Errorf("a token of a known key while the issuer is away: %d", again.StatusCode)
	}
	var refused []trail.Decision
	if !bounds.Within(bounds.Patience, func() bool {
		all, err := trail.Decisions(w.AuditDir(), trail.Filter{Address: "127.0.0.1", Denied: true})
		for i := range all {
			if all[i].Kind == audit.KindRejection {
				refused = append(refused, all[i])
			}
		}
		return err == nil && len(refused) > 0
	}) {
		t.Fatal("the record does not say so")
	}
	if one := &refused[0]; one.Status != 503 || one.Code != "issuer" || one.Agent != "away-test/1" {
		t.Errorf("%s", one.Raw)
	}
}

// proxyTo stands before an issuer, which is known by the proxy's address, and answers nothing useful while gate is closed.
func proxyTo(t *testing.T, issuer string, away *atomic.Bool) string {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		resp, err := http.Get(issuer + r.URL.Path)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(bytes.ReplaceAll(b, []byte(issuer), []byte(server.URL)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}
