//lint:file-ignore SA1019 roots are what is tested; the SDK calls them deprecated since 2026-07-28

package clients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// anIssuer returns an authorization server as far as a protected resource sees it: its metadata, its keys, and the tokens
// that it signs.
func anIssuer(t *testing.T) (url string, token func(claims obj) string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	world.Must(t, err)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server":
			_ = json.NewEncoder(w).Encode(obj{"issuer": server.URL, "jwks_uri": server.URL + "/keys"})
		case "/keys":
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k", Algorithm: "ES256"}}})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func(claims obj) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
		world.Must(t, err)
		signed, err := signer.Sign([]byte(world.Raw(t, claims)))
		world.Must(t, err)
		text, err := signed.CompactSerialize()
		world.Must(t, err)
		return text
	}
}

// TestHTTPTokensOfAnIssuer: two people of one authorization server share a hub. Each is held to the directories of their
// group; tokens of others, for others or of yesterday count for nothing; and no server sees a token.
func TestHTTPTokensOfAnIssuer(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	issuer, token := anIssuer(t)
	var mu sync.Mutex
	var heard []string // by the server elsewhere
	elsewhere := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		heard = append(heard, fmt.Sprint(r.Header, r.URL), string(body))
		mu.Unlock()
		rw.WriteHeader(http.StatusInternalServerError)
	}))
	defer elsewhere.Close()
	const resource = "https://hub.example/mcp"
	config := w.Config(obj{"files": obj{"builtin": "files"}, "elsewhere": obj{"url": elsewhere.URL}}, obj{"http": obj{
		"resource": resource,
		"issuers": []obj{{"issuer": issuer, "scopes": []string{"mcp"}, "roots": obj{"claim": "groups", "values": obj{
			"team": []string{"project"}, "others": []string{w.Outside}}}}},
	}})
	log := listenTo(w)
	url := w.Listening(exec.Command(world.Hub(t), "serve", "--http", "127.0.0.1:0", "--config", config, "--log-level", "trace"), regexp.MustCompile(`serving (http://\S+/mcp)`))
	var secrets []string // all tokens
	claims := func(who string, groups ...string) obj {
		return obj{"iss": issuer, "aud": resource, "sub": who, "groups": groups, "scope": "mcp", "exp": time.Now().Add(time.Hour).Unix()}
	}
	inside, outside := w.Path("project", "hello.txt"), w.Path("outside", "secret.txt")

	for _, tc := range []struct {
		who          string
		groups       []string
		opens, fails string
	}{
		{"alice", []string{"team"}, inside, outside},
		{"bob", []string{"others"}, outside, inside}, // the control: the same call of someone else
		{"carol", nil, "", inside},
		{"carol", nil, "", outside},
	} {
		secret := token(claims(tc.who, tc.groups...))
		secrets = append(secrets, secret)
		c := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, nil)
		c.AddRoots(&gosdk.Root{URI: ide.FileURI("/")}) // says that the whole disk is open
		web := &http.Client{Transport: bearer{secret, &http.Transport{}}}
		s, err := c.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: url, HTTPClient: web}, nil)
		world.Must(t, err)
		if tc.opens != "" {
			if got, bad := world.CallGoSDK(t, s, "files__read_text_file", obj{"path": tc.opens}, nil); bad {
				t.Errorf("%s: inside: %s", tc.who, got)
			}
		}
		if got, bad := world.CallGoSDK(t, s, "files__read_text_file", obj{"path": tc.fails}, nil); !bad || !strings.HasPrefix(got, "Access denied") {
			t.Errorf("%s: outside: %s", tc.who, got)
		}
		if got, _ := world.CallGoSDK(t, s, "get-roots", obj{}, nil); strings.Contains(got, secret) {
			t.Errorf("get-roots has the token")
		}
		world.Must(t, s.Close())
		web.CloseIdleConnections()
		mu.Lock()
		for _, text := range heard {
			if strings.Contains(text, secret) || strings.Contains(text, "Bearer") {
				t.Errorf("the server elsewhere has seen the token of %s", tc.who)
			}
		}
		mu.Unlock()
	}
	mu.Lock()
	if len(heard) == 0 {
		t.Error("the server elsewhere has heard nothing, so it proves nothing")
	}
	mu.Unlock()

	wrong := claims("mallory", "team")
	_, forged := anIssuer(t)
	for _, tc := range []struct {
		name   string
		change obj
		sign   func(obj) string
		status int
		says   string
	}{
		{"another issuer", obj{"iss": "https://evil.example"}, token, 401, "invalid_token"},
		{"another audience", obj{"aud": "https://other.example/mcp"}, token, 401, "invalid_token"},
		{"another signature", obj{}, forged, 401, "invalid_token"},
		{"expired", obj{"exp": time.Now().Add(-time.Hour).Unix()}, token, 401, "invalid_token"},
		{"without the scope", obj{"scope": "other"}, token, 403, "insufficient_scope"},
		{"as it should be", obj{}, token, 400, ""},
	} {
		all := obj{}
		for _, m := range []obj{wrong, tc.change} {
			for k, v := range m {
				all[k] = v
			}
		}
		secret := tc.sign(all)
		secrets = append(secrets, secret)
		r, err := (&http.Client{Transport: bearer{secret, http.DefaultTransport.(*http.Transport)}}).Post(url, "application/json", strings.NewReader(`{}`))
		world.Must(t, err)
		_ = r.Body.Close()
		challenge := r.Header.Get("WWW-Authenticate")
		if tc.status != r.StatusCode && !(tc.status == 400 && r.StatusCode != 401 && r.StatusCode != 403) || !strings.Contains(challenge, tc.says) {
			t.Errorf("%s: %d %s", tc.name, r.StatusCode, challenge)
		}
		if tc.says != "" && !strings.Contains(challenge, `resource_metadata="https://hub.example/.well-known/oauth-protected-resource/mcp"`) {
			t.Errorf("%s: %s", tc.name, challenge)
		}
	}
	r, err := http.Get(strings.TrimSuffix(url, "/mcp") + "/.well-known/oauth-protected-resource/mcp")
	world.Must(t, err)
	text, err := io.ReadAll(r.Body)
	world.Must(t, err)
	_ = r.Body.Close()
	if !strings.Contains(string(text), issuer) || !strings.Contains(string(text), resource) {
		t.Errorf("metadata: %s", text)
	}
	http.DefaultClient.CloseIdleConnections()

	// No token that came is in the log, in what status says, or in a file of the hub's: the record, the cache, its state.
	status := exec.Command(world.Hub(t), "status", "--json")
	status.Env = w.Env()
	told, err := status.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, told)
	}
	told = append(told, log.joinLines()...)
	world.EachFile(t, w.Home, func(_ string, text []byte) { told = append(told, text...) })
	for _, part := range []string{`"hubs":`, `"message":"call denied"`, `"kind":"decision"`} {
		if !strings.Contains(string(told), part) {
			t.Errorf("the control: %s is not in what is searched", part)
		}
	}
	for _, secret := range secrets {
		if _, signature, _ := strings.Cut(secret[strings.IndexByte(secret, '.')+1:], "."); strings.Contains(string(told), signature) || strings.Contains(string(told), secret[:60]) {
			t.Errorf("a token is shown: %s", told)
		}
	}
}
