package remote

import (
	"net/http"
	"net/url"
	"testing"
)

// Credentials go along from http to https of the same host, and otherwise stay at their scheme, host and port.
func TestWhereARequestMayGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to, want string // "": it is not followed
	}{
		{"http://a.example/mcp", "/mcp/", "http://a.example/mcp/"},
		{"http://a.example/mcp", "http://A.example:80/x?y", "http://A.example:80/x?y"},
		{"http://a.example/mcp", "https://a.example/mcp", "https://a.example/mcp"},
		{"http://a.example:80/mcp", "https://a.example:443/mcp", "https://a.example:443/mcp"},
		{"https://a.example/mcp", "//a.example/x", "https://a.example/x"},
		{"https://a.example/mcp", "http://a.example/mcp", ""},
		{"http://a.example:8080/mcp", "https://a.example/mcp", ""},
		{"http://a.example/mcp", "https://a.example:8443/mcp", ""},
		{"http://a.example/mcp", "http://a.example:81/mcp", ""},
		{"http://a.example/mcp", "https://www.a.example/mcp", ""},
		{"http://a.example/mcp", "https://a.example.evil.example/mcp", ""},
		{"http://a.example/mcp", "https://a.example@evil.example/mcp", ""},
		{"http://a.example/mcp", "http:mcp", ""},
		{"http://a.example/mcp", "file:///etc/passwd", ""},
		{"http://a.example/mcp", "http://%zz/", ""},
	} {
		from, err := url.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		to, hint := redirectTarget(from, &http.Response{StatusCode: http.StatusPermanentRedirect, Header: http.Header{"Location": {c.to}}})
		if (to == nil) != (c.want == "") || (hint == "") == (c.want == "") || to != nil && to.String() != c.want {
			t.Errorf("from %s to %s: %v %q, want %q", c.from, c.to, to, hint, c.want)
		}
	}
}

// The request is sent to the host that it goes to, if hub.json names no other in its headers.
func TestTheHostOfARequestThatMoved(t *testing.T) {
	t.Parallel()
	for named, want := range map[string]string{"": "a.example:443", "own.example": "own.example"} {
		r, err := http.NewRequest(http.MethodPost, "http://a.example/mcp", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if named != "" {
			r.Host = named
		}
		again, err := moveRequest(r, &url.URL{Scheme: "https", Host: "a.example:443", Path: "/mcp"})
		if err != nil || again.Host != want || again.Method != http.MethodPost {
			t.Errorf("%+v, %v", again, err)
		}
	}
}
