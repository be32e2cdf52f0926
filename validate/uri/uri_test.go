package uri

import "testing"

// TestURISpellingsControl: what a URL parser makes of a URI is not what was sent, and the text that was sent fits no
// template, so that without the other spellings nothing is judged.
func TestURISpellingsControl(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"REPO://o//etc/passwd":            "repo://o//etc/passwd",
		"fi\nles://%2Fetc%2Fpasswd":       "files://%2Fetc%2Fpasswd",
		"repo://o/x/..//etc/passwd":       "repo://o//etc/passwd",
		"https://u@API:443/%2Fetc":        "https://api/%2Fetc",
		"proj://x/y/%2e./%2Fetc%2Fshadow": "proj://x/%2Fetc%2Fshadow",
		"repo://o/a/b/..":                 "repo://o/a/",
	} {
		if got := resolveDots(cleanURI(uri)); got != want {
			t.Errorf("%q becomes %q, want %q", uri, got, want)
		}
	}
	if _, ok := Match("files://{path}", "fi\nles://%2Fetc%2Fpasswd"); ok {
		t.Error("the text as sent fits the template")
	}
}
