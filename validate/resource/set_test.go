package resource

import (
	"net/url"
	"strings"
	"testing"
)

func bound(t testing.TB, prefixes ...string) *Set {
	t.Helper()
	s, bad := New(prefixes)
	for i, err := range bad {
		if err != nil {
			t.Fatalf("%s: %v", prefixes[i], err)
		}
	}
	return s
}

func set(t testing.TB) *Set {
	t.Helper()
	return bound(t, "https://api.example.com/v1/", "https://bücher.example/", "https://local.example:8443", "https://[2001:db8::1]/x/", "git+ssh://host/team/", "note://notes/")
}

func TestAURIBelowItsPrefixIsInside(t *testing.T) {
	t.Parallel()
	s := set(t)
	for _, text := range []string{
		"https://api.example.com/v1/", "https://api.example.com/v1", "https://api.example.com/v1/users/7", "HTTPS://API.Example.COM/v1/x",
		"https://api.example.com:443/v1/x", "https://api.example.com:/v1/x", "https://api.example.com:0443/v1/x",
		"https://api.example.com/v1/a/../b", "https://api.example.com/v1/./x", "https://api.example.com/v1/x?next=https://evil.example/../..#/../..",
		"https://api.example.com/v1/a%20b", "https://api.example.com/v1/a b", "https://api.example.com/v1/%7Euser", "https://api.example.com/%76%31/x",
		"https://api.example.com/v1/x;v=1", "https://api.example.com/v1/100%25", "https://api.example.com/v1/50%", "https://api.example.com/v1/é",
		" https://api.example.com/v1/x\n", "<https://api.example.com/v1/x>", `"https://api.example.com/v1/x"`,
		"https://api.example.com/v1/a\nhttps://api.example.com/v1/b", "https://api.example.com/v1/a, https://local.example:8443/b",
		"https://bücher.example/x", "https://xn--bcher-kva.example/x", "https://XN--BCHER-KVA.example/x",
		"https://local.example:8443/anything", "https://local.example:8443", "https://[2001:DB8:0::1]/x/y",
		"//api.example.com/v1/x", "view-source:https://api.example.com/v1/x",
		"git+ssh://host/team/repo.git", "git+ssh://HOST:22/team/repo.git", "note://notes/1",
	} {
		if r := s.Check(text); !r.Bound || !r.Inside() {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

// What no prefix is about stays as it is.
func TestAURIWithoutAPrefixStaysUnbound(t *testing.T) {
	t.Parallel()
	s := set(t)
	for _, text := range []string{
		"", "x", "/etc/passwd", "page.html", "http://evil.example/", "ftp://evil.example/", "mailto:me@evil.example", "C:/x", "localhost:8080/x", "evil.example/x",
		"git://host/x", "ssh://host/x", "urn:isbn:1", "file:///etc/passwd", "see https elsewhere", "data:text/plain,x", "javascript:alert(1)", "1https://x/",
		"https", ":https", "a,b;c|d", "://",
	} {
		if r := s.Check(text); r.Bound {
			t.Errorf("%q: %+v", text, r)
		}
	}
	var none *Set
	if r := none.Check("https://evil.example/"); r.Bound || len(none.List("")) != 0 {
		t.Errorf("nobody bound it: %+v", r)
	}
}

// Attacks, by class. The control is a check that compares text, or what Go's own
// parser makes of it, and to which what has no host is no address: for each class
// there is one of them that it gets past.
func TestAURIThatOneParserReadsOutsideIsOutside(t *testing.T) {
	t.Parallel()
	s := set(t)
	fooled := func(text string) bool {
		if strings.HasPrefix(strings.ToLower(text), "https://api.example.com") {
			return true
		}
		if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" || u.Hostname() == "api.example.com" && strings.HasPrefix(u.Path, "/v1/") {
			return true
		}
		return false
	}
	for class, texts := range map[string][]string{
		"another host": {"https://api.example.com.evil.example/v1/", "https://api.example.comevil/v1/x", "https://evil.example/v1/"},
		"beside the path": {
			"https://api.example.com/v10/x", "https://api.example.com/v1x", "https://api.example.com/", "https://api.example.com", "https://api.example.com/V1/x",
			"https://api.example.com?/v1/", "https://api.example.com#/v1/",
		},
		"another port": {"https://api.example.com:8443/v1/x", "https://api.example.com:80/v1/x", "https://local.example/x", "https://api.example.com:99999/v1/x", "https://api.example.com:44 3/v1/x"},
		"a user": {
			"https://api.example.com@evil.example/v1/", "https://api.example.com:443@evil.example/v1/x", "https://user@api.example.com/v1/x", "https://user:pw@api.example.com/v1/x",
			"https://evil.example?@api.example.com/v1/x", "https://evil.example#@api.example.com/v1/x", "git+ssh://git@host/team/x",
		},
		"up": {
			"https://api.example.com/v1/../admin", "https://api.example.com/v1/a/../../admin", "https://api.example.com/v1/..", "https://api.example.com/v1/../v1/../x",
			"https://api.example.com/../../x",
		},
		"up, encoded": {
			"https://api.example.com/v1/%2e%2e/admin", "https://api.example.com/v1/%2E./admin", "https://api.example.com/v1/.%2e/admin", "https://api.example.com/v1/..%2fadmin",
			"https://api.example.com/v1/%2e%2e%2fadmin", "https://api.example.com/v1%2f..%2fadmin", "https://api.example.com/v1/%252e%252e/admin", "https://api.example.com/v1/%252e%252e%252fadmin",
			"https://api.example.com/v1/%25252e%25252e/admin", "https://api.example.com/v1/%c0%ae%c0%ae/admin", "https://api.example.com/v1/%e0%80%ae%e0%80%ae/admin", "https://api.example.com/v1/%u002e%u002e/admin",
			"https://api.example.com/v1/%" + strings.Repeat("25", 40) + "2e%2e/admin",
		},
		"a slash that is encoded": {"https://api.example.com/v1%2fx", "https://api.example.com/v1%5cx", "https://api.example.com%2fv1/x", "https://api.example.com/v1%2f"},
		"backslashes": {
			`https://api.example.com\v1\x`, `https://api.example.com/v1\..\admin`, `https://api.example.com/v1/..\admin`, `https://api.example.com/v1/%5c..%5cadmin`, `https://api.example.com\@evil.example/v1/`,
			`https://evil.example\@api.example.com/v1/x`, `https:\\api.example.com\v1\x`, `\\evil.example\v1`, `/\evil.example/v1/`, `https:/\evil.example/v1/`,
		},
		"empty components": {"https://api.example.com/v1//../../admin", "https://api.example.com/v1//../admin", "https://api.example.com//v1/x", "https://api.example.com/v1/a//..//../admin"},
		"parameters":       {"https://api.example.com/v1/..;/admin", "https://api.example.com/v1/..;a=b/admin", "https://api.example.com/v1/%2e%2e;/admin", "https://api.example.com/v1;x=/../admin", "https://api.example.com/v1;x/y"},
		"no two slashes": {
			"https:evil.example/v1/", "https:/evil.example/v1/", "https:///evil.example/v1/", "https:////evil.example/v1/", "https:api.example.com/v1/", "https:///api.example.com/v1/x", "https:", "https://", "https:///",
		},
		"blanks and breaks": {
			"ht\ntps://evil.example/v1/", "\thttps://evil.example/", "\u200bhttps://evil.example/", "https://api.example.com\n.evil.example/v1/x", "https://api.example.com/v1/.\n./admin", "https://api.example.com/v1/.\t./x",
			"https://api.example.com /v1/x", "https://api.example.com/v1/%00/x", "https://api.example.com/v1/%0d%0aHost:x",
			"https://\u00a0api.example.com/v1/x", "https://api.exam\u00adple.com/v1/x",
		},
		"several": {
			"https://api.example.com/v1/a https://evil.example/", "https://api.example.com/v1/a,https://evil.example/", "https://api.example.com/v1/a\nhttps:evil.example", "https://api.example.com/v1/a|https://evil.example/",
			"x, https://evil.example/", "https://api.example.com/v1/a; https://evil.example/",
		},
		"wrapped":              {"view-source:https://evil.example/", "url:https://evil.example/", "blob:https://evil.example/x", "jar:https://evil.example/x.jar!/y", "xx:yy:https://evil.example"},
		"no scheme of its own": {"//evil.example/v1/", " //evil.example/", "///evil.example/"},
		"names in other letters": {
			"https://ａpi.example.com/v1/x", "https://api。example.com/v1/x", "https://api%2eexample.com/v1/x", "https://%61pi.example.com/v1/x", "https://ⓐpi.example.com/v1/x", "https://api.example.com\u3002evil.example/v1/",
			"https://buecher.example/x", "https://bu\u0308cher.example/x", "https://b\u212Acher.example/", "https://faß.example/", "https://аpi.example.com/v1/x", "https://api.example.com./v1/x", "https://api..example.com/v1/x",
		},
		"addresses":     {"https://127.0.0.1/v1/", "https://2130706433/", "https://0x7f.1/", "https://[::1]/", "https://[2001:db8::1%25eth0]/x/y", "https://[2001:db8::1]:444/x/y", "https://[2001:db8::2]/x/y", "https://[2001:db8::1]evil/x/y", "https://2001:db8::1/x/y"},
		"other schemes": {"git+ssh://evil/team/x", "git+ssh://host/team2/x", "git+ssh:host:team/x", "git+ssh://host/team/../x", "note://other/1", "note:notes/1", "note:///notes/1"},
		"too long":      {"https://api.example.com/v1/" + strings.Repeat("a", longest)},
	} {
		any := false
		for _, text := range texts {
			r := s.Check(text)
			if !r.Bound || r.Inside() || r.Why == "" {
				t.Errorf("%s: %q: %+v", class, text[:min(len(text), 200)], r)
			}
			any = any || fooled(text)
		}
		if !any {
			t.Errorf("%s: no control", class)
		}
	}
}

func TestPrefixesThatAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://api.example.com/v1/": "https://api.example.com/v1/", "HTTPS://API.example.com:443/v1": "https://api.example.com/v1", "https://x.example": "https://x.example/",
		"https://bücher.example/": "https://xn--bcher-kva.example/", "https://[2001:DB8::1]:8443/": "https://[2001:db8::1]:8443/", "note://notes/a%20b/": "note://notes/a%20b/", "mem:///x/": "mem:///x/",
	} {
		s, bad := New([]string{text})
		if bad != nil || len(s.List("")) != 1 || s.List("")[0] != want {
			t.Errorf("%s: %v, %v", text, s.List(""), bad)
		}
	}
	for _, text := range []string{
		"", "x", "/x", "example.com/x", "file:///x", "FILE:///x", "https:x", "https:///x", "https://u@h/", "https://h/?q", "https://h/#f", "https://h/a/../b", "https://h/%2e%2e/", "https://h//x/", "https://h/a;b/",
		`https://h\x/`, "https://h/a%252fb/", "https://h/a%2fb/", "https://%68/", "https://h:x/", "https://h/ \n", "urn:x", "mailto:a@b", "https://faß.example/",
	} {
		if err := Valid(text); err == nil {
			t.Errorf("%q is a prefix", text)
		}
	}
}

// With adds what is a prefix, and changes no Set that there is.
func TestWithAddsAPrefixToACopy(t *testing.T) {
	t.Parallel()
	s := bound(t, "https://a.example/")
	more := s.With([]string{"https://b.example/", "nothing", "file:///x"})
	if r := s.Check("https://b.example/"); r.Inside() {
		t.Error("the Set itself has changed")
	}
	if r := more.Check("https://b.example/"); !r.Inside() || len(more.List("https")) != 2 {
		t.Errorf("%+v, %v", r, more.List(""))
	}
	var none *Set
	if r := none.With([]string{"https://b.example/"}).Check("https://a.example/"); !r.Bound || r.Inside() {
		t.Errorf("%+v", r)
	}
}
