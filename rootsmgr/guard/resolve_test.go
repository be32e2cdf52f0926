package guard_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/rootsmgr/rootstest"
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
