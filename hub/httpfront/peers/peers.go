package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mcphub/hub/httpfront/events"
	"mcphub/hub/httpfront/headers"
	"mcphub/hub/seal"
	"mcphub/internal/printable"
)

const (
	// Path is where a hub tells another one its name.
	Path = "/peer"
	// Header carries what one hub tells another one: on a request that is forwarded, and on a question for the name.
	Header = "Mcphub-Peer"

	purposeForward = "peer forward"
	purposeAsk     = "peer ask"
	purposeName    = "peer name"

	validTime = 30 * time.Second // of what is sealed; the clocks of hubs may differ by less
	dialTime  = 2 * time.Second
	knownTime = 20 * time.Second // since a hub has answered; then it is asked again before it is sent a token, since another program may have its address
	idleTime  = time.Minute      // of a connection without a request; less than the other hub leaves it open
	idleOpen  = 64               // such connections to one address
)

// Options shape Peers.
type Options struct {
	Addresses []*url.URL   // of the other hubs, and maybe of this one; a name stands for all addresses that it has
	Node      string       // the name of this hub
	Seal      *seal.Sealer // by the keys that the hubs have in common
	Log       zerolog.Logger
}

// Peers are the other hubs. The nil Peers has none.
type Peers struct {
	o        Options
	listed   []*listed
	looking  sync.Mutex // held while the addresses are asked; guards lookedAt
	lookedAt time.Time
	mu       sync.Mutex // guards known
	known    map[string]sighting
}

// listed is one address of the configuration. Its transport is for all places that the name has.
type listed struct {
	url       *url.URL
	transport *http.Transport
}

// A place is where a hub has answered.
type place struct {
	of   *listed
	host string // address and port
}

// A sighting is the place where a hub has answered last.
type sighting struct {
	place
	until time.Time // then it is asked again
}

// New makes Peers; nil if there are no addresses. It asks no one.
func New(o Options) *Peers {
	if len(o.Addresses) == 0 {
		return nil
	}
	p := &Peers{o: o, known: map[string]sighting{}}
	for _, u := range o.Addresses {
		t := &http.Transport{
			DialContext:         (&net.Dialer{Timeout: dialTime}).DialContext,
			TLSHandshakeTimeout: dialTime, MaxIdleConnsPerHost: idleOpen, IdleConnTimeout: idleTime, DisableCompression: true,
		}
		if u.Scheme == "https" {
			t.TLSClientConfig = tlsFor(u.Hostname())
		}
		p.listed = append(p.listed, &listed{u, t})
	}
	return p
}

// Close ends the connections that no request uses.
func (p *Peers) Close() {
	if p == nil {
		return
	}
	for _, l := range p.listed {
		l.transport.CloseIdleConnections()
	}
}

// errMisdirected: the hub at the address has another name by now.
var errMisdirected = errors.New("another hub answers there")

// A message is what one hub tells another about a request.
type message struct {
	Node   string `json:"node"`   // that is meant
	Client string `json:"client"` // the client's address
}

// bindingOf returns what the header of a request is bound to. The body is not part of it: the token that came with the
// request vouches for that.
func bindingOf(r *http.Request) []byte {
	sum := sha256.New()
	for _, part := range []string{r.Method, r.URL.EscapedPath(), r.Header.Get("Authorization"), headers.SessionOf(r.Header), r.Header.Get(headers.LastEvent)} {
		_, _ = io.WriteString(sum, part)
		_, _ = sum.Write([]byte{0})
	}
	return sum.Sum(nil)
}

// Sender returns the address of the client of a request that another hub has forwarded. forwarded is false if the request comes from a
// client. The error is for a request that was meant for another hub, or whose header no other hub has made for it.
func (p *Peers) Sender(r *http.Request) (client string, forwarded bool, err error) {
	token := r.Header.Get(Header)
	if p == nil || token == "" {
		return "", false, nil
	}
	text, err := p.o.Seal.Open(purposeForward, bindingOf(r), time.Now(), token)
	if err != nil {
		return "", false, err
	}
	var m message
	switch err := json.Unmarshal(text, &m); {
	case err != nil:
		return "", false, err
	case m.Node != p.o.Node:
		return "", false, errMisdirected
	}
	return m.Client, true, nil
}

// IsMisdirected reports whether an error of Sender is for a request that was meant for another hub.
func IsMisdirected(err error) bool { return errors.Is(err, errMisdirected) }

// A Request is one that is forwarded.
type Request struct {
	Node   string // the hub that keeps its session
	Client string // the address of its client
	Body   []byte // what was read of it; nil: nothing was
}

// Forward has the hub of a name serve a request, and reports whether it has answered. Otherwise no request was sent and no answer written: the
// hub is not known, or there is no connection to it.
func (p *Peers) Forward(w http.ResponseWriter, r *http.Request, f Request) (answered bool) {
	if p == nil || f.Node == "" || f.Node == p.o.Node {
		return false
	}
	at, ok := p.findPlace(r.Context(), f.Node)
	if !ok {
		return false
	}
	text, err := json.Marshal(message{f.Node, f.Client})
	if err != nil {
		return false
	}
	token, err := p.o.Seal.Seal(purposeForward, bindingOf(r), time.Now().Add(validTime), text)
	if err != nil {
		return false
	}
	if f.Body != nil {
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(f.Body)), int64(len(f.Body))
	}
	out := &patientWriter{ResponseWriter: w, control: http.NewResponseController(w)}
	if r.Body == nil || r.Body == http.NoBody || f.Body != nil {
		_ = out.control.SetReadDeadline(time.Time{})
	} else {
		r = r.Clone(r.Context())
		r.Body = &lastRead{r.Body, out.control}
	}
	sent, answered := false, true
	trace := &httptrace.ClientTrace{ // its functions are called by who forwards: the transport may try a second connection if it has sent nothing by the first
		GetConn: func(string) { sent = false },
		GotConn: func(httptrace.GotConnInfo) { sent = true },
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.Host = at.of.url.Scheme, at.host, pr.In.Host
			pr.Out.Header.Set(Header, token)
		},
		Transport: at.of.transport, FlushInterval: -1, ErrorLog: stdlog.New(p.o.Log.Level(zerolog.DebugLevel), "", 0),
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode == http.StatusMisdirectedRequest {
				return errMisdirected
			}
			for key := range w.Header() { // this hub has answered a page's question in the same words
				resp.Header.Del(key)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { // w is out: it gives the text its time, however long the other hub took
			answered = sent && !errors.Is(err, errMisdirected)
			p.logFailure(f.Node, at, answered, err)
			if answered {
				http.Error(w, "the hub that keeps this session has not answered; what was sent to it may have run", http.StatusBadGateway)
			}
		},
	}
	proxy.ServeHTTP(out, r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	return answered
}

// logFailure logs that a request was not answered by the hub that it was for. If no hub may have served it, the place of that hub is forgotten.
func (p *Peers) logFailure(node string, at place, sent bool, err error) {
	p.o.Log.Warn().Str("node", printable.Escape(node, 100)).Str("address", at.host).Bool("sent", sent).Err(err).Msg("a request could not be forwarded")
	if sent || errors.Is(err, context.Canceled) { // that the client has gone is no fault of the place
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known[node].place == at {
		delete(p.known, node)
	}
}

// A patientWriter gives each part of an answer its time to be written, however long the answer takes.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *patientWriter) WriteHeader(status int) {
	_ = w.control.SetWriteDeadline(time.Now().Add(events.WriteTimeout))
	w.ResponseWriter.WriteHeader(status)
}

func (w *patientWriter) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(events.WriteTimeout))
	return w.ResponseWriter.Write(b)
}

func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A lastRead ends the time for a body when it is read: the answer may take longer.
type lastRead struct {
	io.ReadCloser
	control *http.ResponseController
}

func (l *lastRead) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		_ = l.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// findPlace returns where a hub answers. If that was found out too long ago, it asks there. If it is not known, or another hub answers there, it
// asks all addresses, unless they were asked a moment ago.
func (p *Peers) findPlace(ctx context.Context, node string) (place, bool) {
	if at, fresh, _ := p.placeOf(node); fresh {
		return at, true
	}
	p.looking.Lock()
	defer p.looking.Unlock()
	at, fresh, known := p.placeOf(node)
	if fresh { // another request has found it
		return at, true
	}
	if known && p.confirmPlace(ctx, node, at) {
		return at, true
	}
	if time.Since(p.lookedAt) >= lookEvery {
		p.askAll(ctx)
		p.lookedAt = time.Now() // those who have waited for this look do not look again
	}
	at, fresh, _ = p.placeOf(node)
	return at, fresh
}

// confirmPlace asks at a place whether a hub is still there, and forgets the place if not.
func (p *Peers) confirmPlace(ctx context.Context, node string, at place) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime) // others wait for the answer too
	defer cancel()
	name, err := p.askName(ctx, at)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || name != node {
		delete(p.known, node)
		return false
	}
	p.known[node] = sighting{at, time.Now().Add(knownTime)}
	return true
}

// placeOf returns where a hub has answered, and whether that was a moment ago.
func (p *Peers) placeOf(node string) (at place, fresh, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen, known := p.known[node]
	return seen.place, time.Now().Before(seen.until), known
}
