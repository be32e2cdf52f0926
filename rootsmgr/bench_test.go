package rootsmgr_test

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// benchTree has 1,000 directories, of which n are roots, and a file in one of
// them, at depth 8 counted from "/". The file is the same whatever n.
func benchTree(b *testing.B, dir string, n int) (*guard.Guard, string) {
	file := strings.Repeat("/d", max(0, 8-strings.Count(dir, "/")-3)) + "/f"
	path := dir + "/p/root0500" + file
	entries := []RootEntry{{URI: dir + "/p/root0500"}}
	for i := range 1000 {
		name := fmt.Sprintf("p/root%04d", i)
		rootstest.Add(b, dir, name+file)
		if i != 500 && len(entries) < n {
			entries = append(entries, RootEntry{URI: dir + "/" + name})
		}
	}
	s := NewSnapshot(guard.OS{}, 1, OriginConfig, entries)
	if s.Len() != n {
		b.Fatalf("%d roots: %+v", s.Len(), s.Skipped())
	}
	if got := strings.Count(path, "/"); got != 8 {
		b.Fatalf("depth %d: %s", got, path)
	}
	return s.Guard(), path
}

func BenchmarkGuardCheck(b *testing.B) {
	dir := rootstest.Tree(b, "p/")
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("roots=%d", n), func(b *testing.B) {
			g, path := benchTree(b, dir, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Check(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGuardCheckOther(b *testing.B) {
	g, path := benchTree(b, rootstest.Tree(b), 1000)
	dir := path[:strings.LastIndexByte(path, '/')]
	for name, p := range map[string]string{
		"missing": dir + "/new/er/x", "dotdot": dir + "/../" + dir[strings.LastIndexByte(dir, '/')+1:] + "/f", "denied": "/etc/passwd",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = g.Check(p)
			}
		})
	}
}

func BenchmarkNewSnapshot(b *testing.B) {
	dir := rootstest.Tree(b, "p/")
	var entries []RootEntry
	for i := range 1000 {
		rootstest.Add(b, dir, fmt.Sprintf("p/%d/", i))
		entries = append(entries, RootEntry{URI: platform.Host().FormatURI(fmt.Sprintf("%s/p/%d", dir, i))})
	}
	b.ReportAllocs()
	for b.Loop() {
		NewSnapshot(guard.OS{}, 1, OriginAsked, entries)
	}
}
