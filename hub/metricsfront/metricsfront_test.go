package metricsfront

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/e2e/bounds"
	"mcphub/e2e/fronttest"
	"mcphub/hub/exposition"
	"mcphub/hub/httpfront/admission"
	"mcphub/hub/telemetry"
)

// metricsAt serves metrics and returns where.
func metricsAt(t *testing.T, o Options) string {
	t.Helper()
	ln := fronttest.Listen(t)
	fronttest.Run(t, http.DefaultTransport.(*http.Transport), func(ctx context.Context) error {
		return Serve(ctx, ln, telemetry.New(telemetry.Options{Version: "1"}), zerolog.Nop(), o)
	})
	return "http://" + ln.Addr().String()
}

func TestWhoMayReadMetrics(t *testing.T) {
	open, closed := metricsAt(t, Options{}), metricsAt(t, Options{Token: "right", Hosts: []string{"hub.example"}})
	for name, tc := range map[string]struct {
		method, url, host, origin, token string
		want                             int
	}{
		"on loopback":          {url: open + "/metrics", want: http.StatusOK},
		"by a page's name":     {url: open + "/metrics", host: "evil.example", want: http.StatusForbidden}, // DNS rebinding
		"from a page":          {url: open + "/metrics", origin: "https://evil.example", want: http.StatusForbidden},
		"another path":         {url: open + "/mcp", want: http.StatusNotFound},
		"another method":       {method: http.MethodPost, url: open + "/metrics", want: http.StatusMethodNotAllowed},
		"without the token":    {url: closed + "/metrics", want: http.StatusUnauthorized},
		"with another token":   {url: closed + "/metrics", token: "wrong", want: http.StatusUnauthorized},
		"with the token":       {url: closed + "/metrics", token: "right", want: http.StatusOK},
		"by a configured name": {url: closed + "/metrics", host: "hub.example:9464", token: "right", want: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tc.method, tc.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Host = tc.host; tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			if tc.token != "" {
				r.Header.Set("Authorization", "Bearer "+tc.token)
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != tc.want {
				t.Fatalf("%d %s (%v), want %d", res.StatusCode, body, err, tc.want)
			}
			if told := strings.Contains(string(body), "mcphub_build_info"); told != (tc.want == http.StatusOK) {
				t.Errorf("the metrics were told: %t", told)
			}
			if tc.want == http.StatusOK && res.Header.Get("Content-Type") != exposition.ContentType {
				t.Errorf("Content-Type %q", res.Header.Get("Content-Type"))
			}
		})
	}
}

// Of connections to the metrics that have shown no token only so many stay open, and of all where none is needed.
// One that has shown its token stays.
func TestStrangersAreFew(t *testing.T) {
	for _, token := range []string{"right", ""} {
		url := metricsAt(t, Options{Token: token})
		dial := func() net.Conn {
			t.Helper()
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		ask := func(c net.Conn, token string) int {
			_ = c.SetDeadline(time.Now().Add(bounds.Patience))
			if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: "+strings.TrimPrefix(url, "http://")+"\r\nAuthorization: Bearer "+token+"\r\n\r\n"); err != nil {
				return 0
			}
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return 0
			}
			_, _ = io.Copy(io.Discard, r.Body)
			return r.StatusCode
		}
		own, stranger := dial(), dial()
		if got := ask(own, token); got != http.StatusOK {
			t.Fatal(got)
		}
		if got, want := ask(stranger, "wrong"), map[bool]int{true: http.StatusUnauthorized, false: http.StatusOK}[token != ""]; got != want {
			t.Fatalf("%d, want %d", got, want)
		}
		for range admission.MaxStrangers {
			if c := dial(); ask(c, "wrong") == 0 { // so each was met
				t.Fatal("a connection that has just come was closed")
			}
		}
		if got := ask(stranger, token); got != 0 {
			t.Errorf("token %q: the oldest that has shown none is answered %d", token, got)
		}
		if got, stays := ask(own, token), token != ""; (got == http.StatusOK) != stays {
			t.Errorf("token %q: the one that has shown it is answered %d", token, got)
		}
	}
}

// TestThePageIsPacked for those who take gzip, and reads the same.
func TestThePageIsPacked(t *testing.T) {
	url := metricsAt(t, Options{}) + "/metrics"
	for accepts, packed := range map[string]bool{
		"": false, "identity": false, "gzip": true, "GZIP": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "gzip; q=0.000, identity": false, "x-gzip-not": false,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", accepts)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got := res.Header.Get("Content-Encoding") == "gzip"; got != packed {
			t.Errorf("%q: packed %t", accepts, got)
		}
		body := io.Reader(res.Body)
		if packed {
			if body, err = gzip.NewReader(res.Body); err != nil {
				t.Fatal(err)
			}
		}
		if page, err := io.ReadAll(body); err != nil || !strings.Contains(string(page), "mcphub_build_info") {
			t.Errorf("%q: %v\n%.200s", accepts, err, page)
		}
	}
}
