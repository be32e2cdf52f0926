package remote_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/link"
	"mcphub/children/remote"
	"mcphub/e2e/childtest"
	"mcphub/e2e/trusttest"
	"mcphub/internal/trust"
)

// secured returns a server by https that asks for a certificate of clients, and tells whose it was.
func secured(t *testing.T, house, clients *trusttest.Authority) (s *childtest.Server, address string) {
	t.Helper()
	s = childtest.NewServer(t)
	s.On["tools/list"] = func(w http.ResponseWriter, r *http.Request, id string) {
		childtest.Plain(w, id, `{"client":"`+r.TLS.PeerCertificates[0].Subject.CommonName+`"}`)
	}
	return s, house.Serve(s.Config.Handler, clients).URL
}

// The connections to a server are secured as its entry says, in all three ways of speaking to it.
func TestTLS(t *testing.T) {
	t.Parallel()
	house, clients := trusttest.New(t), trusttest.New(t)
	s, address := secured(t, house, clients)
	cert, key := clients.Files(t.TempDir(), clients.Issue("the hub"))
	set := trust.Settings{CA: trust.File{Path: house.File()}, Cert: trust.File{Path: cert}, Key: trust.File{Path: key}}
	l, _, stop := open(t, remote.Server{URL: address, Transport: remote.HTTP, TLS: set})
	greet(t, l)
	res, err := l.Call(t.Context(), "tools/list")
	if err != nil || !strings.Contains(string(res.Result), "the hub") {
		t.Fatalf("%s, %v", res.Result, err)
	}
	modern := l.(interface{ Stateless() link.ChildConnection }).Stateless()
	if res, err := modern.Call(t.Context(), "tools/list"); err != nil || !strings.Contains(string(res.Result), "the hub") {
		t.Errorf("without a handshake: %v", err)
	}
	_ = stop()
	s.Get = func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the stream of %v", r.TLS.PeerCertificates)
	}
	for name, without := range map[string]func(*trust.Settings){
		"certificate":  func(s *trust.Settings) { s.CA = trust.File{} },
		"127.0.0.1":    func(s *trust.Settings) { s.Cert, s.Key = trust.File{}, trust.File{} }, // the server ends it, at some moment
		"(hub.json:4)": func(s *trust.Settings) { s.Pins, s.PinsAt = []string{"sha256/AAAA"}, "hub.json:4" },
	} {
		for _, transport := range []remote.Transport{remote.HTTP, remote.SSE} {
			less := set
			without(&less)
			l, _, _ := open(t, remote.Server{URL: address, Transport: transport, TLS: less})
			_, err := l.Call(t.Context(), "initialize", []byte(`{}`))
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "https://") {
				t.Errorf("by %s: %v, want an error with %q", transport, err, name)
			}
		}
	}
}

// An entry whose files cannot be used does not start, and says where that is.
func TestTLSFiles(t *testing.T) {
	t.Parallel()
	_, err := remote.Open(remote.Server{URL: "https://mcp.example.com/", TLS: trust.Settings{CA: trust.File{Path: "/nowhere/ca.pem", At: "hub.json:5"}}}, nil, zerolog.Nop())
	if bad, ok := errors.AsType[*trust.Error](err); !ok || bad.At != "hub.json:5" || !strings.Contains(err.Error(), "/nowhere/ca.pem") {
		t.Error(err)
	}
}
