package admission

import (
	"net/http"
	"net/netip"
	"testing"
)

// TestClientAddress: only a trusted proxy is believed, and only as far as proxies that are trusted have written.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		remote         string
		xff, forwarded []string
		want           string
	}{
		"no proxy":                        {"192.0.2.1:5", nil, nil, "192.0.2.1"},
		"a client that claims to be one":  {"192.0.2.1:5", []string{"198.51.100.9"}, []string{"for=198.51.100.9"}, "192.0.2.1"},
		"a proxy that says nothing":       {"10.0.0.1:5", nil, nil, "10.0.0.1"},
		"a proxy":                         {"10.0.0.1:5", []string{"198.51.100.9"}, nil, "198.51.100.9"},
		"two proxies":                     {"10.0.0.1:5", []string{"198.51.100.9, 10.0.0.2"}, nil, "198.51.100.9"},
		"what the client had written":     {"10.0.0.1:5", []string{"1.1.1.1, 198.51.100.9"}, nil, "198.51.100.9"},
		"in a header of its own":          {"10.0.0.1:5", []string{"1.1.1.1", "198.51.100.9"}, nil, "198.51.100.9"},
		"a trusted address before":        {"10.0.0.1:5", []string{"10.9.9.9, 198.51.100.9"}, nil, "198.51.100.9"},
		"nonsense":                        {"10.0.0.1:5", []string{"198.51.100.9, unknown"}, nil, "10.0.0.1"},
		"nonsense behind a trusted one":   {"10.0.0.1:5", []string{"unknown, 10.0.0.2"}, nil, "10.0.0.2"},
		"only trusted ones":               {"10.0.0.1:5", []string{"10.0.0.3, 10.0.0.2"}, nil, "10.0.0.3"},
		"with a port":                     {"10.0.0.1:5", []string{"198.51.100.9:1234"}, nil, "198.51.100.9"},
		"version 6":                       {"[fd00::1]:5", []string{"2001:db8::7"}, nil, "2001:db8::7"},
		"version 4 in 6":                  {"[::ffff:10.0.0.1]:5", []string{"::ffff:198.51.100.9"}, nil, "198.51.100.9"},
		"Forwarded":                       {"10.0.0.1:5", nil, []string{`for=1.1.1.1, for=198.51.100.9;proto=https`}, "198.51.100.9"},
		"Forwarded, version 6":            {"10.0.0.1:5", nil, []string{`proto=https;For="[2001:db8::7]:99"`}, "2001:db8::7"},
		"Forwarded, hidden":               {"10.0.0.1:5", nil, []string{`for=_secret`}, "10.0.0.1"},
		"both, which agree":               {"10.0.0.1:5", []string{"198.51.100.9"}, []string{"for=198.51.100.9"}, "198.51.100.9"},
		"both, one of them by the client": {"10.0.0.1:5", []string{"198.51.100.9"}, []string{"for=1.1.1.1"}, "10.0.0.1"},
		"a socket without an address":     {"@", []string{"198.51.100.9"}, nil, ""},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.xff, "Forwarded": c.forwarded}}
		if got := ClientAddress(r, trusted); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got := ClientAddress(r, nil); c.want != "" && got == "198.51.100.9" {
			t.Errorf("%s: a proxy counts though none is trusted", name)
		}
	}
}
