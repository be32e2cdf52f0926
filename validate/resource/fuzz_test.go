package resource

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzCheck holds what is inside to readers of other kinds: what Go's own parser
// makes of the text, what a browser makes of it, and the raw text once its
// escapes are gone. None of them may name another host, or another place below
// it, than a prefix does.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		"https://api.example.com/v1/x", "https://api.example.com/v1/../x", "https://api.example.com/v1/%252e%252e/x", `https://api.example.com\@evil.example/v1/`,
		"https://api.example.com@evil.example/", "https:api.example.com/v1", "//api.example.com/v1/a;b", "https://bücher.example/x", "https://[2001:db8::1]/x/y", "git+ssh://host/team/x",
		"https://api.example.com/v1/a, https://evil.example/", "ht\ntps://api.example.com/v1/", "view-source:https://api.example.com/v1/x", "https://api.example.com:0443/v1/?a@b#c",
	} {
		f.Add(text)
	}
	s := set(f)
	f.Fuzz(func(t *testing.T, text string) {
		r := s.Check(text)
		if !r.Bound {
			if scheme, _, ok := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "://"); ok && s.bindsScheme(scheme) {
				t.Fatalf("%q is a URI of %s, and is not looked at", text, scheme)
			}
			return
		}
		if !r.Inside() {
			if r.Why == "" {
				t.Fatalf("%q is outside without a reason", text)
			}
			return
		}
		if again := s.Check(r.URI); !again.Bound || !again.Inside() {
			t.Fatalf("%q is inside, its canonical spelling %q is not: %+v", text, r.URI, again)
		}
		if strings.ContainsAny(strings.TrimFunc(text, isEdge), " \t\r\n,;|") {
			return // several, or none that these readers take
		}
		for _, spelling := range spellings(strings.TrimFunc(text, isEdge)) {
			u, err := url.Parse(spelling)
			if err != nil {
				continue
			}
			if u.User != nil {
				t.Fatalf("%q is inside, and names a user as %q", text, spelling)
			}
			if u.Host == "" || !s.bindsScheme(u.Scheme) {
				continue
			}
			for _, p := range s.prefixes {
				if p.scheme == u.Scheme && strings.EqualFold(p.host, asciiHost(u.Hostname())) {
					base, _ := url.PathUnescape(p.path)
					base = strings.TrimSuffix(base, "/")
					if clean := u.JoinPath().Path; base != "" && clean != base && !strings.HasPrefix(clean, base+"/") {
						t.Fatalf("%q is inside, and as %q leads to %q", text, spelling, clean)
					}
					return
				}
			}
			t.Fatalf("%q is inside, and as %q names the host %q", text, spelling, u.Host)
		}
	})
}

// spellings returns what programs make of a text before they parse it.
func spellings(text string) []string {
	head, tail := text, ""
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		head, tail = text[:i], text[i:]
	}
	list := []string{text, strings.ReplaceAll(head, `\`, "/") + tail}
	for range 4 {
		head = decodePercent(head)
		list = append(list, head, strings.ReplaceAll(head, `\`, "/"))
	}
	return list
}

func asciiHost(host string) string {
	if plain, err := nonTransitional.ToASCII(host); err == nil {
		return plain
	}
	return host
}
