package browser

import "testing"

func TestOpensPagesOnly(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "calc:", "file:///etc/passwd", "javascript:alert(1)", "--version", "https:", "http:///x", "\x00"} {
		if Open(address) == nil {
			t.Errorf("%q is opened", address)
		}
	}
}

func TestOpener(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	display := func(name string) string {
		if name == "DISPLAY" {
			return ":0"
		}
		return ""
	}
	for _, test := range []struct {
		goos string
		env  func(string) string
		want string
	}{{"linux", none, ""}, {"linux", display, "xdg-open"}, {"darwin", none, "open"}, {"windows", none, "rundll32"}} {
		if name, _ := findOpener(test.goos, test.env); name != test.want {
			t.Errorf("%s: %q, want %q", test.goos, name, test.want)
		}
	}
}
