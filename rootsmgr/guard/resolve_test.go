package guard_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// TestErrorTexts: the texts that people read name the path and the reason, and
// are fit for a terminal whatever the path holds.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "r/l => ../out", "r/loop => loop", "out/x")
	g := guardOf(t, guard.OS{}, dir+"/r")
	for path, want := range map[string]string{
		dir + "/out/x":                   "is outside every root",
		dir + "/r/l/x":                   `leads to "` + dir + `/out/x" through symlinks`,
		dir + "/r/loop":                  "too many symlinks",
		dir + "/r/\x1b[2J\x00":           `\x1b[2J`,
		dir + "/r/\u202e/../../":         `\u202e`,
		"/" + strings.Repeat("/日本", 150): "bytes)",
		"relative":                       "not absolute",
	} {
		_, err := g.Check(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\x1b\x00\u202e") {
			t.Errorf("Check(%q): %v; want %q", path, err, want)
		}
	}
	if _, err := (&guard.Guard{}).Check("/x"); !strings.Contains(err.Error(), "no root is open") {
		t.Error(err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dir := rootstest.Tree(t, "a/l => ../b/c", "b/c/", "b/f", "a/f")
	place, err := guard.Resolve(guard.OS{}, dir+"/a/l/../f")
	want := guard.Place{Path: dir + "/b/f", Exists: true, File: true, Readings: guard.Readings{
		Lexical: dir + "/a/f", Physical: dir + "/b/f", Cleaned: dir + "/a/f"}}
	if err != nil || place != want {
		t.Errorf("%+v, %v", place, err)
	}
	var u *guard.UnresolvableError
	if _, err := guard.Resolve(nil, "/"); !errors.As(err, &u) {
		t.Error(err)
	}
	// A Place outside is described all the same, for policy rules.
	place, err = guardOf(t, guard.OS{}, dir+"/a").Check(dir + "/b/f")
	var e *guard.EscapeError
	if !errors.As(err, &e) || e.Reading != guard.ReadingLexical || !place.Exists || place.Readings.Physical != dir+"/b/f" {
		t.Errorf("%+v, %v", place, err)
	}
	if (guard.OS{}).Home() != os.Getenv("HOME") && platform.Host() == platform.Linux {
		t.Error("home")
	}
}

// A path is resolved alike however its parts are set apart.
func TestResolveSpellings(t *testing.T) {
	t.Parallel()
	for p, paths := range map[platform.Platform][]string{
		platform.Linux:   {"/a/b/f", "//a/b/f", "/a//b///f", "/./a/./b/f", "/a/b/f/", "/a/b/f/.", "/b/../a/b/f", "/l/b//f", "/a/b/./././././././././f"},
		platform.Windows: {`C:\a\b\f`, `C:\\a\b\f`, `C:/a//b/f`, `C:\.\a\b\f`, `C:\a\b\f\`, `C:\b\..\a\b\f`, `C:\l\b\\f`},
	} {
		volume := map[platform.Platform]string{platform.Windows: "C:"}[p]
		f := rootstest.NewFS(t, p, []string{volume + "/a/b/f", volume + "/b/", volume + "/l => a"})
		for _, missing := range []string{"", "/x", "/x/x/x/x/x/x/x/x/x/x", "//x//x/x/x/x/x/x/x/x/./x/y/.."} {
			want := p.Clean(p.FromSlash(volume + "/a/b" + missing + "/f"))
			for _, path := range paths {
				path = strings.Replace(path, "f", "."+missing+"/f", 1)
				if got, err := guard.Resolve(f, path); err != nil || got.Path != want || got.Readings.Physical != want || got.Exists != (missing == "") {
					t.Errorf("%s: %+v, %v", path, got, err)
				}
			}
		}
	}
}

// targets is an FS whose links have the targets that a test gives them.
type targets struct {
	guard.FS
	of map[string]string
}

func (f targets) Readlink(name string) (string, error) { return f.of[name], nil }
func (f targets) Platform() platform.Platform          { return guard.PlatformOf(f.FS) }

// A link whose target cannot be told is refused: it is neither followed nor left out.
func TestResolveLinksThatLeadNowhere(t *testing.T) {
	t.Parallel()
	for p, list := range map[platform.Platform][]string{
		platform.Linux:   {"", "\x00", "\x00/a", "a\x00"},
		platform.Windows: {"", "\x00", `\\?\UNC\s\h`, `\??\UNC\s\h`, `\\?\Volume{4c1b02c1}\a`, `\??\a`, `\\.\C:\a`, "C:a", `\\s`},
	} {
		top := map[platform.Platform]string{platform.Linux: "/", platform.Windows: `C:\`}[p]
		f := targets{rootstest.NewFS(t, p, []string{p.Join(top, "a/"), p.Join(top, "l => a")}), map[string]string{p.Join(top, "l"): "a"}}
		if got, err := guard.Resolve(f, p.Join(top, "l")); err != nil || got.Path != p.Join(top, "a") || !got.Dir {
			t.Fatalf("the control: %+v, %v", got, err)
		}
		for _, target := range list {
			f.of[p.Join(top, "l")] = target
			for _, path := range []string{p.Join(top, "l"), p.Join(top, "l/a")} {
				got, err := guard.Resolve(f, path)
				var u *guard.UnresolvableError
				if !errors.As(err, &u) || u.Cause != platform.CauseLink || u.At != p.Join(top, "l") {
					t.Errorf("%s by a link to %q: %+v, %v", path, target, got, err)
				}
			}
		}
	}
}
