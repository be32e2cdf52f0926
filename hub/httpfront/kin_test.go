package httpfront

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// TestKin: where nobody needs a token, whoever is refused by the process at the other end
// of its connection is not served; it is asked once for each connection.
func TestKin(t *testing.T) {
	for _, tc := range []struct {
		name    string
		tokens  []Token
		refuses bool
		status  int
		asked   int
	}{
		{"a stranger", nil, false, http.StatusOK, 1},
		{"a server of the hub", nil, true, http.StatusForbidden, 1},
		{"with tokens", []Token{{Name: "a", Secret: "s"}}, true, http.StatusOK, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			o := Options{Tokens: tc.tokens, Kin: func(remote, local netip.AddrPort) error {
				if asked++; !remote.Addr().IsLoopback() || local.Port() == 0 || remote.Port() == local.Port() {
					t.Errorf("%v to %v", remote, local)
				}
				if tc.refuses {
					return errors.New("no servers")
				}
				return nil
			}}
			g, err := newAdmission(o)
			if err != nil {
				t.Fatal(err)
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{ConnContext: withConnection, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.admit(w, r) })}
			go func() { _ = server.Serve(ln) }()
			defer func() { _ = server.Close() }()
			client := &http.Client{Transport: &http.Transport{}}
			for range 3 {
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+ln.Addr().String()+endpoint, strings.NewReader("{}"))
				req.Header.Set("Authorization", "Bearer s")
				res, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body) // so that the connection is used again
				_ = res.Body.Close()
				if res.StatusCode != tc.status {
					t.Errorf("%s", res.Status)
				}
			}
			client.CloseIdleConnections()
			if asked != tc.asked {
				t.Errorf("it was asked %d times", asked)
			}
		})
	}
	g, err := newAdmission(Options{Kin: func(_, _ netip.AddrPort) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if g.stranger(&http.Request{RemoteAddr: "127.0.0.1:1"}) == nil {
		t.Error("who cannot be told is served")
	}
}
