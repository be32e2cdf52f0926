package platform_test

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	. "mcphub/rootsmgr/platform"
)

func TestParseRootURI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		platform Platform
		raw      string
		want     string // "" = refused
	}{
		{Linux, "file:///home/u/p", "/home/u/p"},
		{Linux, "FILE:///home/u/p", "/home/u/p"},
		{Linux, "FiLe:/home/u/p", "/home/u/p"},
		{Linux, "file:/home/u/p", "/home/u/p"},
		{Linux, "file://localhost/home/u", "/home/u"},
		{Linux, "file://LocalHost/home/u", "/home/u"},
		{Linux, "file:///home/u/p/", "/home/u/p/"},
		{Linux, "file:///", "/"},
		{Linux, "file:////x", "//x"},
		{Linux, "file:///a%20b", "/a b"},
		{Linux, "file:///a b", "/a b"},
		{Linux, "file:///c#", "/c#"},
		{Linux, "file:///c#/x y/100% done", "/c#/x y/100% done"},
		{Linux, "file:///what?", "/what?"},
		{Linux, "file:///50%", "/50%"},
		{Linux, "file:///50%2", "/50%2"},
		{Linux, "file:///%zz", "/%zz"},
		{Linux, "file:///%2520", "/%20"}, // once, not twice
		{Linux, "file:///%E4%BD%A0", "/你"},
		{Linux, "file:///你", "/你"},
		{Linux, `file:///a\b`, `/a\b`},
		{Linux, "file:///a/%2e%2e/b", "/a/../b"},
		{Linux, "file:///~/x", "/~/x"},

		{Linux, "", ""},
		{Linux, "/home/u", ""},
		{Linux, "file", ""},
		{Linux, "file:", ""},
		{Linux, "file:x", ""},
		{Linux, "file:./x", ""},
		{Linux, "file://", ""},
		{Linux, "file://localhost", ""},
		{Linux, "file://home/u", ""},
		{Linux, "file://127.0.0.1/x", ""},
		{Linux, "file://[::1]/x", ""},
		{Linux, "file://evil.example/x", ""},
		{Linux, "file://localhost:80/x", ""},
		{Linux, "file://u@localhost/x", ""},
		{Linux, "file://localhost./x", ""},
		{Linux, "file://%6cocalhost/x", ""},
		{Linux, "file://./x", ""},
		{Linux, "file://~/x", ""},
		{Linux, "file:///a%2Fb", ""},
		{Linux, "file:///a%2fb", ""},
		{Linux, "file:///a%00b", ""},
		{Linux, "file:///a\x00b", ""},
		{Linux, "file:///a%c0%ae", ""},
		{Linux, "file:///%ff", ""},
		{Linux, "file:///\xff", ""},
		{Linux, "file:///a\nb", ""},
		{Linux, "file:///a%0ab", ""},
		{Linux, "vscode-remote://wsl%2Bubuntu/home/u", ""},
		{Linux, "https://example.com/x", ""},
		{Linux, " file:///x", ""},
		{Linux, "ſile:///x", ""},

		{Windows, "file:///C:/x", `C:\x`},
		{Windows, "file:///c%3A/x", `C:\x`},
		{Windows, "file:///c%3a/x%20y", `C:\x y`},
		{Windows, "file:///c:", `C:\`},
		{Windows, `file://C:\Users\me`, `C:\Users\me`},
		{Windows, "file://C:/Users/me", `C:\Users\me`},
		{Windows, "file:C:/x", `C:\x`},
		{Windows, "file:/C:/x", `C:\x`},
		{Windows, "file:///c/x", `C:\x`},
		{Windows, "file:///c", `C:\`},
		{Windows, "file://server/share/x", `\\server\share\x`},
		{Windows, "file:////server/share/x", `\\server\share\x`},
		{Windows, "file://localhost/C:/x", `C:\x`},
		{Windows, "file:///xy/z", ""},
		{Windows, "file:///C:x", ""},
		{Windows, "file:///C|/x", ""},
		{Windows, "file://server", ""},
		{Windows, "file://server/", ""},
		{Windows, "file://127.0.0.1/C$/x", ""},
		{Windows, "file://./C:/x", ""},
		{Windows, "file://?/C:/x", ""},
		{Windows, "file:///C:/a%5Cb", ""},
		{Windows, "file:///C:/a%2Fb", ""},
	}
	for _, tt := range tests {
		got, err := tt.platform.ParseRootURI(tt.raw)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("ParseRootURI(%q) = %q, %v; want %q", tt.raw, got, err, tt.want)
		}
		var ue *URIError
		if err != nil && (!errors.As(err, &ue) || ue.Reason == "") {
			t.Errorf("ParseRootURI(%q): error %v is no URIError", tt.raw, err)
		}
	}
}

func TestReadURI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		platform Platform
		raw      string
		want     []string // nil = refused
	}{
		{Linux, "file:///r/a", []string{"/r/a"}},
		{Linux, "FILE:/r/a%20b", []string{"/r/a b"}},
		{Linux, "file:///r/a b", []string{"/r/a b"}},
		{Linux, "file:///r/%2e%2e/x", []string{"/r/../x"}},
		{Linux, "file:///r/a#b", []string{"/r/a#b", "/r/a"}},
		{Linux, "file:///r/a?b#c", []string{"/r/a?b#c", "/r/a"}},
		{Linux, "file:///r/..#/../x", []string{"/r/..#/../x", "/r/.."}},
		{Linux, "file:///r/a ", []string{"/r/a ", "/r/a"}},
		{Linux, "file:///r/a\u00a0", []string{"/r/a\u00a0", "/r/a"}},
		{Linux, `file:///r/..\..\x`, []string{`/r/..\..\x`, "/r/../../x"}},
		{Linux, `file:///r/a\b#c`, []string{`/r/a\b#c`, "/r/a/b#c", `/r/a\b`, "/r/a/b"}},
		{Linux, "file:///r/a%5Cb", []string{`/r/a\b`}},

		{Linux, "file:///r/.\t./x", nil}, // URL parsers drop the tab
		{Linux, "file:///r/.\n./x", nil},
		{Linux, `file:\\\etc\passwd`, nil},
		{Linux, `file:/\evil/x`, nil}, // URL parsers see a host
		{Linux, "file:///r/%zz", nil},
		{Linux, "file:///r/%", nil},
		{Linux, "file:///r/%2f", nil},
		{Linux, "file:///r/%00", nil},
		{Linux, "file:///r/%c0%ae%c0%ae", nil},
		{Linux, "file://evil/r/a", nil},
		{Linux, "file:r/a", nil},
		{Linux, "jar:file:///r/a", nil},
		{Windows, `file:///C:\r\a`, []string{`C:\r\a`}},
		{Windows, "file:///C:/r/a#b", []string{`C:\r\a#b`, `C:\r\a`}},
	}
	for _, tt := range tests {
		got, err := tt.platform.ReadURI(tt.raw)
		if !slices.Equal(got, tt.want) || (err != nil) != (tt.want == nil) {
			t.Errorf("ReadURI(%q) = %q, %v; want %q", tt.raw, got, err, tt.want)
		}
		one, err := tt.platform.ParseURI(tt.raw)
		if (err == nil) != (len(tt.want) == 1) || err == nil && one != tt.want[0] {
			t.Errorf("ParseURI(%q) = %q, %v; want it only where there is one reading", tt.raw, one, err)
		}
	}
}

// Go's own URL parser reads these otherwise, which is the difference that an
// attack would use: the control for TestReadURI.
func TestReadURIControl(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("file:///r/secret#/../../public")
	if err != nil || u.Path != "/r/secret" {
		t.Fatalf("url.Parse gives %v, %v", u, err)
	}
	naive := strings.TrimPrefix("file:///r/secret#/../../public", "file://")
	if path.Clean(naive) != "/public" {
		t.Fatalf("stripping the scheme gives %q", path.Clean(naive))
	}
	all, err := Linux.ReadURI("file:///r/secret#/../../public")
	if err != nil || !slices.Contains(all, u.Path) || !slices.Contains(all, naive) {
		t.Errorf("ReadURI gives %q, %v; want both", all, err)
	}
}

func TestFormatURI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		platform   Platform
		path, want string
	}{
		{Linux, "/", "file:///"},
		{Linux, "/home/user/project", "file:///home/user/project"},
		{Linux, "/a b/c#d?e%f", "file:///a%20b/c%23d%3Fe%25f"},
		{Linux, "/你", "file:///%E4%BD%A0"},
		{Linux, `/a\b`, "file:///a%5Cb"},
		{Linux, "/a\nb", "file:///a%0Ab"},
		{Linux, "/~u/a+b@c:d", "file:///~u/a+b@c:d"},
		{Linux, "x", ""},
		{Linux, "", ""},
		{Windows, `C:\a b`, "file:///C:/a%20b"},
		{Windows, `C:\`, "file:///C:/"},
		{Windows, `\\server\share\x`, "file://server/share/x"},
		{Windows, `\x`, ""},
	}
	for _, tt := range tests {
		if got := tt.platform.FormatURI(tt.path); got != tt.want {
			t.Errorf("FormatURI(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
}

func FuzzParseURI(f *testing.F) {
	for _, s := range []string{
		"file:///home/u/p", "FILE:/x", "file://localhost/a%20b", "file:///%2e%2e/%2E", "file:///c%3A/x", "file:///C:/x",
		"file://C:\\x", "file:///a#b?c", "file:///%", "file:///%c0%ae", "file:///a\\..\\b", "file://evil/x", "file:///a ",
		"file:////server/share/x", "file:///c/x", "file:x", "file:///\xff", "file:///%2F", "file:///%00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, p := range []Platform{Linux, Darwin, Windows} {
			checkURI(t, p, raw)
		}
	})
}

func checkURI(t *testing.T, p Platform, raw string) {
	path, err := p.ParseRootURI(raw)
	if err == nil {
		if !p.IsAbs(path) || strings.ContainsRune(path, 0) {
			t.Fatalf("%v: ParseRootURI(%q) = %q", p, raw, path)
		}
		clean := p.Clean(path)
		if again := p.Clean(clean); again != clean {
			t.Fatalf("%v: Clean(%q) = %q, then %q", p, path, clean, again)
		}
		uri := p.FormatURI(clean)
		back, err := p.ParseURI(uri)
		if err != nil || p.Clean(back) != clean || !strings.HasPrefix(uri, "file://") {
			t.Fatalf("%v: %q -> %q -> %q -> %q, %v", p, raw, clean, uri, back, err)
		}
	}
	all, err := p.ReadURI(raw)
	if (err == nil) != (len(all) > 0) {
		t.Fatalf("%v: ReadURI(%q) = %q, %v", p, raw, all, err)
	}
	for _, path := range all {
		if !p.IsAbs(path) || strings.ContainsRune(path, 0) {
			t.Fatalf("%v: ReadURI(%q) = %q", p, raw, all)
		}
	}
	// Whatever is readable strictly is readable tolerantly, the same way.
	if err == nil && !strings.ContainsAny(raw, "%") {
		if tolerant, err := p.ParseRootURI(raw); err != nil || tolerant != all[0] {
			t.Fatalf("%v: %q is %q strictly and %q, %v tolerantly", p, raw, all[0], tolerant, err)
		}
	}
	// No reading that URL parsers have is missing.
	if u, uerr := url.Parse(raw); p == Linux && err == nil && uerr == nil && u.Opaque == "" {
		if !slices.Contains(all, u.Path) {
			t.Fatalf("ReadURI(%q) = %q lacks %q of net/url", raw, all, u.Path)
		}
	}
}
