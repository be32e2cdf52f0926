package oauthtest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Canary is in every secret that a Server gives out.
const Canary = "c4n4ry"

// A Server is an authorization server with a server that it protects.
type Server struct {
	Issuer   string
	Resource string // the address of the protected server

	// Faults and ways, to be set before they are needed.
	Life      time.Duration                                  // of an access token; 0: an hour
	Resources func(m map[string]any)                         // changes the metadata of the protected server
	Metadata  func(m map[string]any)                         // changes the metadata of the authorization server
	Answer    func(q url.Values)                             // changes what the browser brings back
	Token     func(w http.ResponseWriter, f url.Values) bool // answers instead of the token endpoint if it returns true
	Register  func(m map[string]any)                         // changes the answer to a registration
	Asked     func(r *http.Request)                          // is shown each request to the authorization server
	Challenge func(text string) string                       // changes what the protected server asks for
	Scope     string                                         // a scope that the protected server wants of tools/call; "": none
	Consent   string                                         // the user whose consent is given; "": alice
	Secret    string                                         // of the client "confidential"

	t   testing.TB
	mu  sync.Mutex
	now state
}

type state struct {
	serial  int
	codes   map[string]url.Values
	access  map[string]Seen
	refresh map[string]Seen
	spent   map[string]int // how often each refresh token came
	ended   map[int]bool   // logins that are over
	devices map[string]string

	Rotations  int
	Logins     int
	Registered int
	Revoked    int
	Calls      []Seen // of the protected server, with a good token
}

// Seen says what a token is.
type Seen struct {
	Login  int
	User   string
	Scopes []string
	Until  time.Time
}

// New starts a Server for the length of a test.
func New(t testing.TB) *Server {
	s := &Server{t: t, Secret: Canary + "-secret", now: state{
		codes: map[string]url.Values{}, access: map[string]Seen{}, refresh: map[string]Seen{}, spent: map[string]int{}, ended: map[int]bool{}, devices: map[string]string{},
	}}
	auth := httptest.NewServer(http.HandlerFunc(s.serveAuthorize))
	t.Cleanup(auth.Close)
	res := httptest.NewServer(http.HandlerFunc(s.serveProtected))
	t.Cleanup(res.Close)
	s.Issuer, s.Resource = auth.URL, res.URL+"/mcp"
	return s
}

// Change changes the ways of a Server that is in use.
func (s *Server) Change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Twice returns how many refresh tokens came more than once.
func (s *Server) Twice() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, times := range s.now.spent {
		if times > 1 {
			n++
		}
	}
	return n
}

// Rotations returns how many refresh tokens were exchanged for others.
func (s *Server) Rotations() int { s.mu.Lock(); defer s.mu.Unlock(); return s.now.Rotations }

// Registered returns how many clients registered themselves.
func (s *Server) Registered() int { s.mu.Lock(); defer s.mu.Unlock(); return s.now.Registered }

// Revoked returns how many logins were given back.
func (s *Server) Revoked() int { s.mu.Lock(); defer s.mu.Unlock(); return s.now.Revoked }

// Calls returns what the protected server has seen.
func (s *Server) Calls() []Seen { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.now.Calls) }

// Expire ends all access tokens.
func (s *Server) Expire() { s.mu.Lock(); defer s.mu.Unlock(); clear(s.now.access) }

// EndLogins ends everything that anybody was given.
func (s *Server) EndLogins() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.now.access)
	clear(s.now.refresh)
}

// Accepts reports whether an access token is good.
func (s *Server) Accepts(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.now.access[token]
	return ok && time.Now().Before(seen.Until)
}

// User returns whose an access token is; "" if it is no one's.
func (s *Server) User(token string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.access[token].User
}

// GiveAccess gives a user an access token, for what answers instead of the token endpoint.
func (s *Server) GiveAccess(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Logins++
	return s.addAccess(Seen{Login: s.now.Logins, User: user})
}

// Spend takes a refresh token as it is taken by a renewal whose answer gets lost.
func (s *Server) Spend(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.spent[token]++
}

// Authorize returns what a browser brings back that opens the page of a login; it does not go there.
func (s *Server) Authorize(t testing.TB, address string) url.Values {
	t.Helper()
	web := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := web.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	at, err := r.Location()
	if err != nil {
		t.Fatal(err)
	}
	return at.Query()
}

func writeReply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	if s.Asked != nil {
		s.Asked(r)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		m := map[string]any{
			"issuer": s.Issuer, "authorization_endpoint": s.Issuer + "/authorize", "token_endpoint": s.Issuer + "/token",
			"registration_endpoint": s.Issuer + "/register", "revocation_endpoint": s.Issuer + "/revoke", "device_authorization_endpoint": s.Issuer + "/device",
			"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
			"scopes_supported": []string{"tools", "more", "offline_access"},
		}
		if s.Metadata != nil {
			s.Metadata(m)
		}
		maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
		writeReply(w, http.StatusOK, m)
	case "/register":
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		s.mu.Lock()
		s.now.Registered++
		asked["client_id"] = fmt.Sprintf("registered-%d", s.now.Registered)
		s.mu.Unlock()
		if s.Register != nil {
			s.Register(asked)
		}
		writeReply(w, http.StatusCreated, asked)
	case "/authorize":
		q := r.Form
		s.mu.Lock()
		s.now.serial++
		code := fmt.Sprintf("%s-code-%d", Canary, s.now.serial)
		s.now.codes[code] = q
		s.mu.Unlock()
		back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.Issuer}}
		if s.Answer != nil {
			s.Answer(back)
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case "/device":
		s.mu.Lock()
		s.now.serial++
		code := fmt.Sprintf("%s-device-%d", Canary, s.now.serial)
		s.now.devices[code] = "" // until someone enters the code
		s.mu.Unlock()
		writeReply(w, http.StatusOK, map[string]any{"device_code": code, "user_code": "WDJB-MJHT", "verification_uri": s.Issuer + "/code", "expires_in": 60, "interval": 1})
	case "/code":
		s.mu.Lock()
		for code := range s.now.devices {
			s.now.devices[code] = "alice"
		}
		s.mu.Unlock()
	case "/revoke":
		s.mu.Lock()
		if seen, ok := s.now.refresh[r.Form.Get("token")]; ok {
			s.endLogin(seen.Login)
			s.now.Revoked++
		}
		s.mu.Unlock()
	case "/token":
		s.mu.Lock()
		instead := s.Token
		s.mu.Unlock()
		if instead == nil || !instead(w, r.Form) {
			s.serveToken(w, r)
		}
	default:
		http.NotFound(w, r)
	}
}

func refuseRequest(w http.ResponseWriter, code, text string) {
	writeReply(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": text})
}

// endLogin ends a login. The caller holds the lock.
func (s *Server) endLogin(login int) {
	s.now.ended[login] = true
	for _, all := range []map[string]Seen{s.now.access, s.now.refresh} {
		maps.DeleteFunc(all, func(_ string, seen Seen) bool { return seen.Login == login })
	}
}

func (s *Server) serveToken(w http.ResponseWriter, r *http.Request) {
	f := r.Form
	s.mu.Lock()
	defer s.mu.Unlock()
	user := s.Consent
	if user == "" {
		user = "alice"
	}
	if f.Get("resource") != s.Resource {
		refuseRequest(w, "invalid_target", "the resource is not "+s.Resource)
		return
	}
	switch f.Get("grant_type") {
	case "authorization_code":
		q, ok := s.now.codes[f.Get("code")]
		delete(s.now.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !ok || q.Get("redirect_uri") != f.Get("redirect_uri") || q.Get("client_id") != clientOf(r) || q.Get("resource") != s.Resource ||
			q.Get("code_challenge_method") != "S256" || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") {
			refuseRequest(w, "invalid_grant", "the code "+f.Get("code")+" is not that of this client") // quotes a secret, as some do
			return
		}
		s.now.Logins++
		s.giveTokens(w, Seen{s.now.Logins, user, strings.Fields(q.Get("scope")), time.Time{}}, true)
	case "urn:ietf:params:oauth:grant-type:device_code":
		by, ok := s.now.devices[f.Get("device_code")]
		switch {
		case !ok:
			refuseRequest(w, "expired_token", "")
		case by == "":
			refuseRequest(w, "authorization_pending", "")
		default:
			s.now.Logins++
			s.giveTokens(w, Seen{s.now.Logins, by, nil, time.Time{}}, true)
		}
	case "refresh_token":
		token := f.Get("refresh_token")
		seen, ok := s.now.refresh[token]
		if before := s.now.spent[token]; ok || before > 0 {
			s.now.spent[token]++
			if before > 0 {
				s.endLogin(seen.Login)
			}
		}
		if !ok || s.now.ended[seen.Login] {
			refuseRequest(w, "invalid_grant", "no such token: "+token)
			return
		}
		s.now.Rotations++
		maps.DeleteFunc(s.now.access, func(_ string, old Seen) bool { return old.Login == seen.Login })
		s.giveTokens(w, seen, true)
	case "client_credentials":
		id, secret, _ := r.BasicAuth()
		if id != "confidential" || secret != s.Secret {
			refuseRequest(w, "invalid_client", "the secret "+secret+" is wrong")
			return
		}
		s.now.Logins++
		s.giveTokens(w, Seen{s.now.Logins, id, nil, time.Time{}}, false)
	default:
		refuseRequest(w, "unsupported_grant_type", "")
	}
}

// clientOf returns the client that asks for a token, with a secret in the header or without one.
func clientOf(r *http.Request) string {
	if id, _, ok := r.BasicAuth(); ok {
		id, _ = url.QueryUnescape(id)
		return id
	}
	return r.Form.Get("client_id")
}

// accessLife returns how long an access token lasts.
func (s *Server) accessLife() time.Duration { return cmp.Or(s.Life, time.Hour) }

// addAccess makes an access token. The caller holds the lock.
func (s *Server) addAccess(seen Seen) string {
	s.now.serial++
	seen.Until = time.Now().Add(s.accessLife())
	access := fmt.Sprintf("%s-access-%d", Canary, s.now.serial)
	s.now.access[access] = seen
	return access
}

// giveTokens gives out tokens. The caller holds the lock.
func (s *Server) giveTokens(w http.ResponseWriter, seen Seen, refresh bool) {
	out := map[string]any{"access_token": s.addAccess(seen), "token_type": "bearer", "expires_in": int(s.accessLife() / time.Second)}
	if len(seen.Scopes) > 0 {
		out["scope"] = strings.Join(seen.Scopes, " ")
	}
	if refresh {
		token := fmt.Sprintf("%s-refresh-%d", Canary, s.now.serial)
		s.now.refresh[token] = seen
		out["refresh_token"] = token
	}
	writeReply(w, http.StatusOK, out)
}

// serveProtected is an MCP server that answers everything, and says who called.
func (s *Server) serveProtected(w http.ResponseWriter, r *http.Request) {
	base := strings.TrimSuffix(s.Resource, "/mcp")
	if r.URL.Path == "/.well-known/oauth-protected-resource/mcp" {
		m := map[string]any{"resource": s.Resource, "authorization_servers": []string{s.Issuer}, "scopes_supported": []string{"tools"}}
		if s.Resources != nil {
			s.Resources(m)
		}
		writeReply(w, http.StatusOK, m)
		return
	}
	if r.URL.Path != "/mcp" {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &m)
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	meta := `resource_metadata="` + base + `/.well-known/oauth-protected-resource/mcp"`
	s.mu.Lock()
	seen, ok := s.now.access[token]
	ok = ok && time.Now().Before(seen.Until)
	scope := s.Scope
	if ok {
		s.now.Calls = append(s.now.Calls, seen)
	}
	s.mu.Unlock()
	switch {
	case !ok:
		challenge := "Bearer " + meta
		if s.Challenge != nil {
			challenge = s.Challenge(challenge)
		}
		w.Header().Set("WWW-Authenticate", challenge)
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	case scope != "" && m.Method == "tools/call" && !slices.Contains(seen.Scopes, scope):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`", `+meta)
		http.Error(w, "more", http.StatusForbidden)
		return
	case r.Method != http.MethodPost:
		http.Error(w, "no stream", http.StatusMethodNotAllowed)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := map[string]any{}
	switch m.Method {
	case "initialize":
		result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "protected", "version": "1"}}
	case "tools/list":
		result = map[string]any{"tools": []any{map[string]any{"name": "whoami", "inputSchema": map[string]any{"type": "object"}}}}
	case "tools/call":
		result = map[string]any{"content": []any{map[string]any{"type": "text", "text": seen.User}}}
	}
	writeReply(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// Visit opens an address as a browser does: it follows redirects to the end.
func Visit(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}
