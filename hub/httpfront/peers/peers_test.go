package peers

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"mcphub/e2e/trusttest"
	"mcphub/hub/httpfront/headers"
	"mcphub/hub/seal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sealer(t *testing.T, letter string) *seal.Sealer {
	t.Helper()
	s, err := seal.New(bytes.Repeat([]byte(letter), seal.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func named(t *testing.T, node, key string, addresses ...string) *Peers {
	t.Helper()
	o := Options{Node: node, Seal: sealer(t, key), Log: zerolog.Nop(), Addresses: []*url.URL{{Scheme: "http", Host: "127.0.0.1:1"}}}
	for _, a := range addresses {
		u, err := url.Parse(a)
		if err != nil {
			t.Fatal(err)
		}
		o.Addresses = append(o.Addresses, u)
	}
	p := New(o)
	t.Cleanup(p.Close)
	return p
}

// request returns a request of a client.
func request(method, path, token, session string) *http.Request {
	r := httptest.NewRequest(method, "http://hub"+path, nil)
	r.Header.Set("Authorization", token)
	r.Header.Set(headers.Session, session)
	return r
}

// TestSender: what a hub tells about a request counts for that request at the hub that is meant, for a while, and by the key alone.
func TestSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named(t, "a", "k"), named(t, "b", "k")
		text, err := json.Marshal(message{"b", "192.0.2.7"})
		if err != nil {
			t.Fatal(err)
		}
		sealed := func() string {
			token, err := from.o.Seal.Seal(purposeForward, bindingOf(request("POST", "/mcp", "Bearer x", "s")), time.Now().Add(validTime), text)
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		with := func(r *http.Request) *http.Request {
			r.Header.Set(Header, sealed())
			return r
		}
		if client, forwarded, err := to.Sender(with(request("POST", "/mcp", "Bearer x", "s"))); client != "192.0.2.7" || !forwarded || err != nil {
			t.Errorf("%q, %t, %v", client, forwarded, err)
		}
		if client, forwarded, err := to.Sender(request("POST", "/mcp", "Bearer x", "s")); client != "" || forwarded || err != nil {
			t.Errorf("of a client: %q, %t, %v", client, forwarded, err)
		}
		for name, r := range map[string]*http.Request{
			"another method":  request("DELETE", "/mcp", "Bearer x", "s"),
			"another path":    request("POST", "/mcp/web", "Bearer x", "s"),
			"another token":   request("POST", "/mcp", "Bearer y", "s"),
			"another session": request("POST", "/mcp", "Bearer x", "s2"),
			"moved letters":   request("POST", "/mcp", "Bearer xs", ""),
		} {
			if _, forwarded, err := to.Sender(with(r)); forwarded || err == nil || IsMisdirected(err) {
				t.Errorf("%s: %t, %v", name, forwarded, err)
			}
		}
		if _, forwarded, err := named(t, "c", "k").Sender(with(request("POST", "/mcp", "Bearer x", "s"))); forwarded || !IsMisdirected(err) {
			t.Errorf("at a hub that is not meant: %t, %v", forwarded, err)
		}
		if _, forwarded, err := named(t, "b", "o").Sender(with(request("POST", "/mcp", "Bearer x", "s"))); forwarded || err == nil {
			t.Errorf("at a hub of another key: %t, %v", forwarded, err)
		}
		late := with(request("POST", "/mcp", "Bearer x", "s"))
		time.Sleep(validTime + time.Second) // no time passes in the bubble otherwise
		if _, forwarded, err := to.Sender(late); forwarded || err == nil {
			t.Errorf("too late: %t, %v", forwarded, err)
		}
		var none *Peers
		if _, forwarded, err := none.Sender(with(request("POST", "/mcp", "Bearer x", "s"))); forwarded || err != nil || none.ServeName(httptest.NewRecorder(), late) || none.Forward(httptest.NewRecorder(), late, Request{Node: "b"}) {
			t.Errorf("a hub without peers: %t, %v", forwarded, err)
		}
	})
}

// TestServeName: only a hub of the same key learns a name, and an answer counts for its own question.
func TestServeName(t *testing.T) {
	t.Parallel()
	hub := named(t, "b", "k")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hub.ServeName(w, r) {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	var once sync.Once
	var kept string
	replays := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			answer := httptest.NewRecorder()
			hub.ServeName(answer, r)
			kept = answer.Body.String()
		})
		_, _ = w.Write([]byte(kept))
	}))
	t.Cleanup(replays.Close)
	ask := func(p *Peers) (string, error) {
		at := p.findPlaces(t.Context())
		return p.askName(t.Context(), at[len(at)-1])
	}
	if name, err := ask(named(t, "a", "k", server.URL)); name != "b" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if name, err := ask(named(t, "a", "o", server.URL)); name != "" || err == nil {
		t.Errorf("with another key: %q, %v", name, err)
	}
	p := named(t, "a", "k", replays.URL)
	if name, err := ask(p); name != "b" || err != nil {
		t.Errorf("the first time: %q, %v", name, err)
	}
	if name, err := ask(p); name != "" || err == nil {
		t.Errorf("an answer that is given again: %q, %v", name, err)
	}
}

// TestFindPlaces: a name stands for all of its addresses.
func TestFindPlaces(t *testing.T) {
	t.Parallel()
	var hosts []string
	for _, at := range named(t, "a", "k", "http://localhost:8765", "https://[::1]").findPlaces(t.Context()) {
		hosts = append(hosts, at.host)
	}
	if all := strings.Join(hosts, " "); !strings.Contains(all, "127.0.0.1:8765") || !strings.HasSuffix(all, "[::1]:443") || strings.Contains(all, "localhost") {
		t.Error(all)
	}
}

// TestBrokenForwarding: a request that was sent is not sent again, and its client is told that it may have run. One that reached no hub has no
// answer yet.
func TestBrokenForwarding(t *testing.T) {
	t.Parallel()
	hub := named(t, "b", "k")
	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hub.ServeName(w, r) {
			return
		}
		sent.Add(1)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	p := named(t, "a", "k", server.URL)
	forward := func() (bool, *httptest.ResponseRecorder) {
		w := httptest.NewRecorder()
		r := request("POST", "/mcp", "Bearer x", "s")
		return p.Forward(w, r, Request{Node: "b", Client: "192.0.2.7", Body: []byte("{}")}), w
	}
	if answered, w := forward(); !answered || w.Code != http.StatusBadGateway || sent.Load() != 1 {
		t.Errorf("%t, %d, sent %d times", answered, w.Code, sent.Load())
	}
	server.CloseClientConnections()
	server.Close()
	for range 2 { // by the address that is known, and after a look at all
		if answered, w := forward(); answered || w.Body.Len() > 0 || sent.Load() != 1 {
			t.Errorf("no hub: %t, %q, sent %d times", answered, w.Body, sent.Load())
		}
	}
}

// TestAnotherProgramAtTheAddress is an attack: a hub has ended, and another program has its address. It is sent no token, for it does not answer as
// the hub would. Control: before that the hub is sent the request, and once it is asked again.
func TestAnotherProgramAtTheAddress(t *testing.T) {
	t.Parallel()
	hub := named(t, "b", "k")
	var taken atomic.Bool
	var served, stolen, asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case taken.Load() && r.Header.Get("Authorization") != "":
			stolen.Add(1)
		case taken.Load():
			http.NotFound(w, r)
		case hub.ServeName(w, r):
			asked.Add(1)
		default:
			served.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	p := named(t, "a", "k", server.URL)
	forward := func() bool {
		return p.Forward(httptest.NewRecorder(), request("POST", "/mcp", "Bearer x", "s"), Request{Node: "b", Client: "192.0.2.7", Body: []byte("{}")})
	}
	passTime := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.known["b"] = sighting{p.known["b"].place, time.Now()}
	}
	if first, second := forward(), forward(); !first || !second || served.Load() != 2 || asked.Load() != 1 {
		t.Fatalf("the control: served %d, asked %d times", served.Load(), asked.Load())
	}
	passTime()
	if !forward() || served.Load() != 3 || asked.Load() != 2 {
		t.Errorf("after a while: served %d, asked %d times", served.Load(), asked.Load())
	}
	taken.Store(true)
	passTime()
	if forward() || stolen.Load() != 0 {
		t.Errorf("another program was sent %d tokens", stolen.Load())
	}
}

// TestARelayAtTheAddress is an attack: a program without the key, at an address that hub.json names, passes the question for the name on to a hub, and its
// answer back, to be sent the requests of clients. Control: the hub itself is sent them, at its own address.
func TestARelayAtTheAddress(t *testing.T) {
	t.Parallel()
	hub := named(t, "b", "k")
	var served, stolen, relayed atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hub.ServeName(w, r) {
			served.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			stolen.Add(1)
			return
		}
		question, err := http.NewRequestWithContext(r.Context(), http.MethodGet, server.URL+Path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		question.Header = r.Header
		answer, err := http.DefaultTransport.RoundTrip(question)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		relayed.Add(1)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(relay.Close)
	forwards := func(address string, log zerolog.Logger) bool {
		p := named(t, "a", "k", address)
		p.o.Log = log
		return p.Forward(httptest.NewRecorder(), request("POST", "/mcp", "Bearer x", "s"), Request{Node: "b", Client: "192.0.2.7", Body: []byte("{}")})
	}
	if !forwards(server.URL, zerolog.Nop()) || served.Load() != 1 {
		t.Fatal("the control: the hub was sent nothing")
	}
	var told bytes.Buffer
	if forwards(relay.URL, zerolog.New(zerolog.SyncWriter(&told))) || stolen.Load() != 0 || relayed.Load() == 0 {
		t.Errorf("the relay was sent %d tokens, and has passed on %d questions", stolen.Load(), relayed.Load())
	}
	for _, want := range []string{`"level":"warn"`, strings.TrimPrefix(relay.URL, "http://"), "was asked at " + strings.TrimPrefix(server.URL, "http://"), "write https:// in http.peers"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &told)
		}
	}
}

// TestPlainAddress: both ends of a connection write its address in one form.
func TestPlainAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.1:80": "10.0.0.1:80", "[::ffff:10.0.0.1]:80": "10.0.0.1:80", "[fe80::1%eth0]:80": "[fe80::1]:80",
		"/run/hub.sock": "", "hub-1:80": "", "": "",
	} {
		if got := plainAddress(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestNoHandshake: a request whose connection by TLS was not made has not run, and no client is told that it may have. Control: one that broke after it was made.
func TestNoHandshake(t *testing.T) {
	t.Parallel()
	authority := trusttest.New(t)
	hub := named(t, "b", "k")
	server := authority.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hub.ServeName(w, r) {
			panic(http.ErrAbortHandler)
		}
	}), nil)
	p := named(t, "a", "k", server.URL)
	at := p.listed[len(p.listed)-1]
	trusted := authority.Pool()
	at.transport.TLSClientConfig.RootCAs = trusted
	forward := func() (bool, int) {
		w := httptest.NewRecorder()
		return p.Forward(w, request("POST", "/mcp", "Bearer x", "s"), Request{Node: "b", Client: "192.0.2.7", Body: []byte("{}")}), w.Code
	}
	if answered, code := forward(); !answered || code != http.StatusBadGateway {
		t.Errorf("the control: %t, %d", answered, code)
	}
	at.transport.CloseIdleConnections()
	at.transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	if answered, code := forward(); answered || code != http.StatusOK { // of the recorder: nothing was written
		t.Errorf("of an authority that is not trusted: %t, %d", answered, code)
	}
}

// timedWriter notes what is written before it has time for it.
type timedWriter struct {
	*httptest.ResponseRecorder
	timed bool
	early int
}

func (w *timedWriter) SetReadDeadline(time.Time) error { return nil }

func (w *timedWriter) SetWriteDeadline(time.Time) error {
	w.timed = true
	return nil
}

func (w *timedWriter) Write(b []byte) (int, error) {
	if !w.timed {
		w.early++
	}
	return w.ResponseRecorder.Write(b)
}

// TestBrokenForwardingIsTold: the client learns that its call may have run, however long the other hub had taken before it broke down.
func TestBrokenForwardingIsTold(t *testing.T) {
	t.Parallel()
	hub := named(t, "b", "k")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hub.ServeName(w, r) {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
	answered := named(t, "a", "k", server.URL).Forward(w, request("POST", "/mcp", "Bearer x", "s"), Request{Node: "b", Body: []byte("{}")})
	if !answered || w.Code != http.StatusBadGateway || w.early > 0 {
		t.Errorf("%t, %d, %d writes by the deadline of the request", answered, w.Code, w.early)
	}
}
