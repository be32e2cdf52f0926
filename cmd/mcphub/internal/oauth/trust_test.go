package oauth_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/e2e/trusttest"
	"mcphub/internal/trust"
)

// A house signs its server and its authorization server. Both are trusted by its authority. The certificate and the pin are for
// the server alone.
func TestTrust(t *testing.T) {
	t.Parallel()
	house, clients := trusttest.New(t), trusttest.New(t)
	var mu sync.Mutex
	var showed []string
	var issuer *httptest.Server
	issuer = house.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		for _, c := range r.TLS.PeerCertificates {
			showed = append(showed, c.Subject.CommonName)
		}
		mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/token") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, `{"access_token":"c4n4ry","token_type":"Bearer"}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": issuer.URL, "authorization_endpoint": issuer.URL + "/authorize", "token_endpoint": issuer.URL + "/token",
		})
	}), nil)
	issuer.TLS.ClientAuth = 1 // asks for a certificate, and needs none
	server := house.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/.well-known/") {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"resource": "https://" + r.Host + "/mcp", "authorization_servers": []string{issuer.URL}})
	}), clients)
	cert, key := clients.Files(t.TempDir(), clients.Issue("the hub"))
	whole := trust.Settings{
		CA: trust.File{Path: house.File()}, Cert: trust.File{Path: cert}, Key: trust.File{Path: key},
		Pins: []string{trust.Pin(server.TLS.Certificates[0].Leaf)},
	}
	try := func(set trust.Settings) error {
		f, err := oauth.New(oauth.Settings{Server: server.URL + "/mcp", Issuer: issuer.URL, ClientID: "i", ClientSecret: "s", TLS: set})
		if err != nil {
			return err
		}
		ch, _, err := f.Probe(t.Context(), nil)
		if err != nil {
			return err
		}
		at, err := f.Discover(t.Context(), ch)
		if err != nil {
			return err
		}
		_, err = f.ClientCredentials(t.Context(), at)
		return err
	}
	if err := try(whole); err != nil {
		t.Fatal(err)
	}
	if len(showed) > 0 {
		t.Errorf("the authorization server was shown %q", showed)
	}
	for name, without := range map[string]func(*trust.Settings){
		"the authority":   func(s *trust.Settings) { s.CA = trust.File{} },
		"the certificate": func(s *trust.Settings) { s.Cert, s.Key = trust.File{}, trust.File{} },
		"its pin":         func(s *trust.Settings) { s.Pins = []string{trust.Pin(issuer.TLS.Certificates[0].Leaf)} },
	} {
		less := whole
		without(&less)
		if err := try(less); err == nil {
			t.Errorf("without %s the login goes on", name)
		}
	}
}
