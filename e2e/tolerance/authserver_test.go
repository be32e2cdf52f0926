package tolerance

import (
	"crypto/rand"
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
)

// An authServer is an MCP server and its authorization server at one address. By itself it is as strict as any: the redirect and the
// proof of the client are compared to the letter, S256 is needed, and a code counts once. A case bends one thing.
type authServer struct {
	url string

	// How it is bent, before a client asks.
	challenge  string              // of a 401, URL being its address; "": none is sent
	resource   func(m obj) string  // changes the metadata of the server; a text that it returns is sent instead
	metadata   func(m obj) string  // the metadata of the authorization server, likewise
	moved      map[string]string   // to which path a document has moved; "": it is gone
	status     map[string]int      // of a document or endpoint
	registers  func(m obj)         // changes the answer to a registration
	proof      string              // how a client proves who it is; "" is none
	token      func(m obj)         // changes an answer with tokens
	kind, head string              // of such an answer: its Content-Type, and what stands before it
	deny       string              // error of the page
	scheme     string              // in which the server wants its token
	ends       bool                // the first token ends before it is used for a call
	clients    map[string]*account // that are registered

	mu      sync.Mutex
	codes   map[string]url.Values
	access  map[string]int // how often each was used for a call
	refresh map[string]bool
}

// An account is a client at an authServer.
type account struct {
	secret    string
	redirects []any
}

const wellKnown = "/.well-known/"

func newAuthServer(t *testing.T) *authServer {
	s := &authServer{
		challenge: `Bearer resource_metadata="URL/.well-known/oauth-protected-resource/mcp"`, scheme: "Bearer", kind: "application/json",
		clients: map[string]*account{}, moved: map[string]string{}, status: map[string]int{}, codes: map[string]url.Values{}, access: map[string]int{}, refresh: map[string]bool{},
	}
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	s.url = at.URL
	return s
}

func (s *authServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	path := r.URL.Path
	if _, away := s.moved[path]; away {
		path = "/gone"
	}
	for from, to := range s.moved {
		if r.URL.Path == to {
			path = from
		}
	}
	if status := s.status[path]; status >= 400 {
		http.Error(w, "not now", status)
		return
	}
	switch path {
	case wellKnown + "oauth-protected-resource/mcp":
		s.document(w, s.resource, obj{"resource": s.url + "/mcp", "authorization_servers": []any{s.url}, "scopes_supported": []any{"tools"}})
	case wellKnown + "oauth-authorization-server":
		s.document(w, s.metadata, obj{"issuer": s.url, "authorization_endpoint": s.url + "/authorize", "token_endpoint": s.url + "/token", "registration_endpoint": s.url + "/register",
			"response_types_supported": []any{"code"}, "code_challenge_methods_supported": []any{"S256"}, "token_endpoint_auth_methods_supported": []any{"none", "client_secret_post", "client_secret_basic"}})
	case "/register":
		s.register(w, r)
	case "/authorize":
		s.page(w, r)
	case "/token":
		s.tokens(w, r)
	case "/mcp":
		s.serve(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *authServer) reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *authServer) document(w http.ResponseWriter, bend func(obj) string, m obj) {
	if bend != nil {
		if text := bend(m); text != "" {
			_, _ = io.WriteString(w, text)
			return
		}
		maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	}
	s.reply(w, http.StatusOK, m)
}

func (s *authServer) register(w http.ResponseWriter, r *http.Request) {
	var m obj
	_ = json.NewDecoder(r.Body).Decode(&m)
	id := "c" + rand.Text()
	redirects, _ := m["redirect_uris"].([]any)
	m["client_id"] = id
	made := &account{redirects: redirects}
	if s.registers != nil {
		s.registers(m)
		made.secret, _ = m["client_secret"].(string)
		maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	}
	s.clients[id] = made
	status := s.status["/register"]
	if status == 0 {
		status = http.StatusCreated
	}
	s.reply(w, status, m)
}

// page is the page for people, who agree at once.
func (s *authServer) page(w http.ResponseWriter, r *http.Request) {
	q := r.Form
	client := s.clients[q.Get("client_id")]
	switch {
	case client == nil:
		http.Error(w, "this client is not known", http.StatusBadRequest)
		return
	case !slices.Contains(client.redirects, any(q.Get("redirect_uri"))):
		http.Error(w, "redirect_uri did not match any configured URI: "+q.Get("redirect_uri"), http.StatusBadRequest)
		return
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		http.Error(w, "no PKCE", http.StatusBadRequest)
		return
	}
	back := url.Values{"code": {rand.Text()}}
	if state := q.Get("state"); state != "" {
		back.Set("state", state)
	}
	s.codes[back.Get("code")] = q
	if s.deny != "" {
		back.Del("code")
		back.Set("error", s.deny)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// proved gives the client that asks for a token, if it proves who it is in the way that is wanted, and in no other.
func (s *authServer) proved(r *http.Request) string {
	id, secret, inHeader := r.BasicAuth()
	inBody := r.PostForm.Get("client_secret")
	if !inHeader {
		id = r.PostForm.Get("client_id")
	}
	client := s.clients[id]
	switch {
	case client == nil:
	case s.proof == "client_secret_basic" && inHeader && secret == client.secret && inBody == "":
		return id
	case s.proof == "client_secret_post" && !inHeader && inBody == client.secret && inBody != "":
		return id
	case s.proof == "" && !inHeader && inBody == "":
		return id
	}
	return ""
}

func (s *authServer) tokens(w http.ResponseWriter, r *http.Request) {
	f := r.PostForm
	refuse := func(status int, code string) {
		w.Header().Set("Content-Type", s.kind)
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `%s{"error":%q,"error_description":"so it is"}`, s.head, code)
	}
	client := s.proved(r)
	if client == "" {
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	}
	switch f.Get("grant_type") {
	case "authorization_code":
		q := s.codes[f.Get("code")]
		delete(s.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if q == nil || q.Get("client_id") != client || q.Get("redirect_uri") != f.Get("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") {
			refuse(http.StatusBadRequest, "invalid_grant")
			return
		}
	case "refresh_token":
		if !s.refresh[f.Get("refresh_token")] {
			refuse(http.StatusBadRequest, "invalid_grant")
			return
		}
	default:
		refuse(http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	access, refresh := "a"+rand.Text(), "r"+rand.Text()
	s.access[access], s.refresh[refresh] = 0, true
	m := obj{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh}
	if s.token != nil {
		s.token(m)
		maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	}
	text, _ := json.Marshal(m)
	w.Header()["Content-Type"] = []string{s.kind}
	_, _ = io.WriteString(w, s.head+string(text))
}

// serve is the MCP server, which answers who has a token.
func (s *authServer) serve(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ ProtocolVersion string }
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	used, good := s.access[token]
	if good && m.Method == "tools/call" && s.ends {
		s.ends, good = false, false
		delete(s.access, token)
	}
	if !good || scheme != s.scheme {
		if s.challenge != "" {
			w.Header().Set("WWW-Authenticate", strings.ReplaceAll(s.challenge, "URL", s.url))
		}
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	s.access[token] = used + 1
	var result any = obj{}
	switch {
	case r.Method != http.MethodPost:
		http.Error(w, "no stream", http.StatusMethodNotAllowed)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == "initialize":
		result = obj{"protocolVersion": m.Params.ProtocolVersion, "capabilities": obj{"tools": obj{}}, "serverInfo": obj{"name": "bent", "version": "1"}}
	case m.Method == "tools/list":
		result = obj{"tools": []any{obj{"name": "whoami", "inputSchema": obj{"type": "object"}}}}
	case m.Method == "tools/call":
		result = obj{"content": []any{obj{"type": "text", "text": "ann"}}}
	default:
		s.reply(w, http.StatusOK, obj{"jsonrpc": "2.0", "id": m.ID, "error": obj{"code": -32601, "message": "not here"}})
		return
	}
	s.reply(w, http.StatusOK, obj{"jsonrpc": "2.0", "id": m.ID, "result": result})
}
