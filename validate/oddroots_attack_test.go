package validate

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/validate/policy"
)

// childReadings returns the paths that programs of several kinds would open for a value: as it stands, decoded, with
// its variables, as a pattern, and, where the argument is called a path, as parts of a list.
func (w *oddWorld) childReadings(v string, lists bool) []string {
	texts := []string{v}
	if dec, err := url.PathUnescape(v); err == nil {
		texts = append(texts, dec)
	}
	texts = append(texts, os.Expand(v, func(n string) string {
		if s := w.env[n]; s != "" {
			return s
		}
		return "$" + n
	}))
	for _, sep := range []string{",", ";", ":", " "} {
		for _, part := range strings.Split(v, sep) {
			if lists && !strings.HasPrefix(w.root, part) { // the beginning of a root is no part of a list
				texts = append(texts, part)
			}
		}
	}
	texts = append(texts, strings.Trim(v, " \"'`<>"), strings.ReplaceAll(v, `\`, "/"))
	var out []string
	for _, text := range texts {
		if rest, ok := strings.CutPrefix(text, "~/"); ok {
			text = filepath.Join(w.env["HOME"], rest)
		}
		if !filepath.IsAbs(text) || strings.IndexByte(text, 0) >= 0 {
			continue
		}
		out = append(out, text)
		if found, err := doublestar.FilepathGlob(text); err == nil {
			out = append(out, found...)
		}
	}
	return out
}

// TestOddRootsAttacked: below roots with odd names, and beside them, nothing passes that some program would open outside.
func TestOddRootsAttacked(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n, denied, allowed := 0, 0, 0
	seeds.Check(t, func(rt *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(oddPieces), 1, 3).Draw(rt, "name"), "")
		n++
		w := newOddWorld(t, makeDir(t, base, fmt.Sprint(n)), name)
		for _, dir := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "a", "b", "A", "ab", "y", "home", "1", "xa", " ", "a/b", name + "x", name + " b"}), 0, 4, rapid.ID[string]).Draw(rt, "neighbours") {
			if filepath.Join(w.top, dir) == w.root || os.MkdirAll(filepath.Join(w.top, dir, "sub"), 0o700) != nil {
				continue
			}
			_ = os.WriteFile(filepath.Join(w.top, dir, "f.txt"), nil, 0o600)
		}
		if err := os.WriteFile(filepath.Join(w.top, "out.txt"), nil, 0o600); err != nil {
			rt.Fatal(err)
		}
		pieces := []string{"/f.txt", "/sub", "/..", "/out.txt", "/%2e%2e", "/{sub,..}", "/*", "/[x]", "/$HOME", ":", ",", ";", " ", w.top, "~", "%2f..", w.root, "x", "/@(a|b)", "/f.txt"}
		value := rapid.SampledFrom([]string{w.root, w.root, w.root, w.top, w.top + "/" + name[:len(name)/2]}).Draw(rt, "start") +
			strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 4).Draw(rt, "rest"), "")
		for _, key := range []string{"path", "thing"} {
			outside := ""
			for _, p := range w.childReadings(value, key == "path") {
				real, err := filepath.EvalSymlinks(p)
				if err == nil && real != w.root && !strings.HasPrefix(real, w.root+"/") && strings.HasPrefix(real, w.top) {
					outside = p
				}
			}
			v := w.judge(rt, "read_it", fmt.Sprintf("{%q:%s}", key, quotedJSON(value)))
			if v.Decision == policy.Allow && outside != "" {
				rt.Errorf("root %q: %s %q passes, and may be %q", name, key, value, outside)
			}
			if v.Decision == policy.Allow {
				allowed++
			} else {
				denied++
			}
		}
	})
	if allowed == 0 || denied == 0 {
		t.Errorf("%d allowed, %d denied", allowed, denied)
	}
}
