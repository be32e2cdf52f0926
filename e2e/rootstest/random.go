package rootstest

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// RandomTree makes a random tree at dir and returns paths in it that may be roots. Its directories, files and links
// have few names, "a" to "d", so that links and spellings meet often. Some paths are files, some do not exist, and some
// are links that lead out of another.
func RandomTree(rt *rapid.T, dir string) []string {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rel := rapid.Custom(func(rt *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 3).Draw(rt, "rel"), "/")
	})
	target := rapid.Custom(func(rt *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "..", "..", ".", "new"}), 1, 5).Draw(rt, "target")
		s := strings.Join(parts, "/")
		if rapid.IntRange(0, 2).Draw(rt, "absolute") == 0 {
			return dir + "/" + s
		}
		return s
	})
	mustSucceed(rt, os.Mkdir(dir, 0o755))
	// Made through os.Root, since a link made earlier may lead out of the tree.
	// What fails, because it exists or leads out, is left away.
	in, err := os.OpenRoot(dir)
	mustSucceed(rt, err)
	defer in.Close()
	for range rapid.IntRange(3, 8).Draw(rt, "directories") {
		_ = in.MkdirAll(rel.Draw(rt, "dir"), 0o755)
	}
	var files []string
	for range rapid.IntRange(1, 4).Draw(rt, "files") {
		at := rel.Draw(rt, "file")
		if f, err := in.OpenFile(at, os.O_CREATE|os.O_EXCL, 0o644); err == nil {
			f.Close()
			files = append(files, at)
		}
	}
	var links []string
	for range rapid.IntRange(4, 16).Draw(rt, "links") {
		to, at := target.Draw(rt, "to"), rel.Draw(rt, "link")
		if in.Symlink(to, at) == nil {
			links = append(links, at)
		}
	}
	var roots []string
	for range rapid.IntRange(1, 3).Draw(rt, "roots") {
		roots = append(roots, dir+"/"+rel.Draw(rt, "root"))
	}
	if len(files) > 0 && rapid.IntRange(0, 2).Draw(rt, "a file") == 0 {
		roots = append(roots, dir+"/"+rapid.SampledFrom(files).Draw(rt, "which"))
	}
	links = slices.DeleteFunc(links, func(link string) bool { // the ones that lead somewhere, inside a directory
		_, err := os.Stat(dir + "/" + link)
		return err != nil || path.Dir(link) == "."
	})
	if len(links) > 0 && rapid.IntRange(0, 3).Draw(rt, "nested") > 0 {
		link := rapid.SampledFrom(links).Draw(rt, "which")
		roots = append(roots, dir+"/"+link, dir+"/"+path.Dir(link))
	}
	return roots
}

// Memory returns a directory for the length of a test, which lies in memory if the system has a place for that.
func Memory(t testing.TB) string {
	t.Helper()
	base := "/dev/shm"
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(base, "rootstest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func mustSucceed(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatal(err)
	}
}
