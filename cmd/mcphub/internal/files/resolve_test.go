package files

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
	"mcphub/rootsmgr/platform"
)

// TestResolveAsTheKernel makes random trees full of links and compares where the
// walk leads with where the kernel leads: inside the same file, outside a denial.
func TestResolveAsTheKernel(t *testing.T) {
	t.Parallel()
	rnd := seeds.Rand(t)
	inside, outside := 0, 0
	for range 40 {
		base := folder(t, map[string]string{"p/a/": "", "p/b/c/": "", "q/a/": "", "o/a/": ""})
		dirs := []string{"p", "p/a", "p/b", "p/b/c", "q", "q/a", "o", "o/a"}
		pick := func() string { return dirs[rnd.IntN(len(dirs))] }
		for i, d := range dirs {
			must(t, os.WriteFile(filepath.Join(base, d, "f"), fmt.Append(nil, i), 0o644))
		}
		for i := range 12 {
			target := filepath.Join(base, pick())
			at := filepath.Join(base, pick())
			switch rnd.IntN(4) {
			case 0:
				target, _ = filepath.Rel(at, target)
			case 1:
				target = filepath.Join(base, pick()) + "/../" + filepath.Base(pick())
			case 2:
				target = fmt.Sprintf("l%d/../%s", rnd.IntN(12), filepath.Base(pick()))
			}
			needs.Link(t, target, filepath.Join(at, fmt.Sprintf("l%d", i)))
		}
		b := newBounds("", []asked{{raw: filepath.Join(base, "p")}, {raw: filepath.Join(base, "q")}})
		for range 400 {
			path := filepath.Join(base, pick())
			for range 1 + rnd.IntN(4) {
				path = filepath.Join(path, []string{"a", "b", "c", "f", fmt.Sprintf("l%d", rnd.IntN(12))}[rnd.IntN(5)])
			}
			real, kerr := filepath.EvalSymlinks(path)
			within := underAny(real, base+"/p", base+"/q")
			_, given, _ := b.locateTree(path)
			r := &reach{bounds: b}
			p, err := r.resolvePath(path, true)
			switch {
			case kerr == nil && within && given != "":
				// A path through outside and back is not followed, because the
				// part outside cannot be opened through a root.
				if err == nil && p.info != nil && p.placePath() == real {
					inside++
				} else if err == nil || !strings.Contains(err.Error(), "denied") {
					t.Fatalf("%s leads to %s, not %s (%v)", path, real, p.placePath(), err)
				}
			case kerr == nil && !within:
				if outside++; err == nil {
					t.Fatalf("%s leads out to %s, but resolves to %s", path, real, p.placePath())
				}
			case kerr != nil && err == nil && p.info != nil:
				t.Fatalf("%s cannot be followed (%v), but resolves to %s", path, kerr, p.placePath())
			}
			r.closeTrees()
		}
	}
	if inside < 300 || outside < 100 {
		t.Errorf("too few cases to mean anything: %d inside, %d outside", inside, outside)
	}
}

func underAny(path string, dirs ...string) bool {
	for _, d := range dirs {
		if _, ok := pathBelow(path, d); ok {
			return true
		}
	}
	return false
}

func TestBelow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, dir, rest string
		ok              bool
	}{
		{"/a/b", "/a", "b", true}, {"/a", "/a", ".", true}, {"/ab", "/a", "", false}, {"/a", "/a/b", "", false},
		{"/a", "/", "a", true}, {"/", "/", ".", true}, {"/A/b", "/a", "", false}, {"/a/b", "", "b", false}, {"", "", "", false},
	} {
		if tt.dir == "" {
			continue // no directory is spelled like that
		}
		if rest, ok := pathBelow(tt.path, tt.dir); runtime.GOOS != "windows" && (ok != tt.ok || ok && rest != tt.rest) {
			t.Errorf("below(%q, %q) = %q, %v", tt.path, tt.dir, rest, ok)
		}
	}
}

func TestPathFromURI(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths of other systems")
	}
	for _, tt := range []struct{ uri, path string }{
		{"file:///a/b", "/a/b"}, {"FILE:///a/b/", "/a/b"}, {"file:/a", "/a"}, {"file://localhost/a", "/a"}, {"file://LOCALHOST/a", "/a"},
		{"file:///a%20b", "/a b"}, {"file:///a b", "/a b"}, {"file:///a#b", "/a#b"}, {"file:///a?b", "/a?b"}, {"file:///a%23b", "/a#b"},
		{"file:///a%2520b", "/a%20b"}, {"file:///%C3%BC", "/ü"}, {"file:///ü", "/ü"}, {"file:///a/../b", "/b"}, {"file:///", "/"},
		{"file://host/a", ""}, {"file://host:1/a", ""}, {"file://u@localhost/a", ""}, {"file:a", ""}, {"file:", ""}, {"file://", ""},
		{"file:///a%00b", ""}, {"file:///a%zz", "/a%zz"}, {"http:///a", ""}, {"/a", ""}, {"file://localhost", ""},
	} {
		got, err := pathFromURI(tt.uri)
		if (err != nil) != (tt.path == "") || got != tt.path {
			t.Errorf("%s = %q, %v; want %q", tt.uri, got, err, tt.path)
		}
		if err == nil {
			if back, err := pathFromURI(platform.Host().FormatURI(got)); err != nil || back != got {
				t.Errorf("%s: back from %s is %q, %v", got, platform.Host().FormatURI(got), back, err)
			}
		}
	}
}
