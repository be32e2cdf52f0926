package rootsmgr_test

import (
	"path"
	"strings"
	"testing"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// FuzzPattern writes patterns of an operator for a fixed tree: whatever they are,
// they are read in bounded time and memory, open nothing outside the directory
// that they begin in, and what they open is what they match.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{
		"*", "**", "**/f", "r/*", "{r,out}", "r/{a,b/{c,d}}", "[id]", "r/[!a]*", "r/../*", "*/../../*", "\\*", "r/in*", "r/up/*", "r/{..,a}/*",
		strings.Repeat("{", 200) + strings.Repeat("}", 200), strings.Repeat("{a,b}", 30), strings.Repeat("**/", 60) + "x", strings.Repeat("*", 300),
		"[]a]", "[^]]", "{a", "a}", "a\\", "{a,[}]}", "{*,*}/{*,*}/{*,*}", "r{}", "r{a,}", "r//*", "./*", "*/.", "\x00*", "\xff*", "*\n",
	} {
		f.Add(s, "r/a/f")
	}
	f.Add("nothing/../*", "r/a/f")
	dir := rootstest.AttackTree(f)
	f.Fuzz(func(t *testing.T, pattern, name string) {
		entry := SettingEntry(guard.OS{}, pattern, dir)
		if entry.Pattern != "" && !strings.HasSuffix(entry.URI, entry.Pattern) {
			t.Fatalf("%q: %+v", pattern, entry)
		}
		base, err := guard.Resolve(guard.OS{}, strings.TrimSuffix(entry.URI, entry.Pattern))
		if entry.Pattern != "" && err == nil && !platform.Linux.Below(base.Path, dir) {
			t.Skip("the whole disk takes longer than the fuzzer waits; TestPatternBounds has that")
		}
		s := NewSnapshot(guard.OS{}, 1, OriginConfig, []RootEntry{entry})
		if s.Len() > 1000 {
			t.Fatalf("%q: %d roots", pattern, s.Len())
		}
		if s.Len()+len(s.Skipped()) == 0 {
			t.Fatalf("%q opens nothing, and says nothing", pattern)
		}
		if entry.Pattern == "" {
			return
		}
		for _, r := range s.Roots() {
			if err != nil || !platform.Linux.Below(r.Path, base.Path) || r.File && path.Clean(entry.URI) != r.Given {
				t.Fatalf("%q opens %+v", pattern, r)
			}
		}
		// Nothing has come into being since.
		if s.Appeared(dir + "/" + name) {
			t.Fatalf("%q: %q has appeared", pattern, name)
		}
		s.SkippedAbove(dir + "/" + name)
	})
}

// FuzzSplitRoots: nothing is lost or made up, and no comma between two braces
// that belong together separates.
func FuzzSplitRoots(f *testing.F) {
	for _, s := range []string{"a,b", "{a,b},c", "a{b,c", "}{,", "{a,{b,c}},{d", strings.Repeat("{", 1000) + "," + strings.Repeat("}", 1000), ",", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		parts := SplitRoots(list)
		if strings.Join(parts, ",") != list {
			t.Fatalf("%q: %q", list, parts)
		}
		for _, p := range parts {
			depth := 0
			for _, c := range p {
				switch c {
				case '{':
					depth++
				case '}':
					depth = max(0, depth-1)
				case ',':
					if depth == 0 {
						t.Fatalf("%q: %q holds a comma outside of braces", list, p)
					}
				}
			}
		}
	})
}
