package children

import (
	"testing"
)

func TestRootsDecision(t *testing.T) {
	base := rootsChange{list: true}
	for _, c := range []struct {
		name string
		set  func(*rootsChange)
		want rootsAction
	}{
		{"never asked", func(*rootsChange) {}, rootsKeep},
		{"asked", func(c *rootsChange) { c.asked = true }, rootsTell},
		{"asked, the same", func(c *rootsChange) { c.asked, c.sameRoots = true, true }, rootsKeep},
		{"not served", func(c *rootsChange) { c.asked, c.list = true, false }, rootsKeep},
		{"rewritten, asked", func(c *rootsChange) { c.rewritten, c.asked = true, true }, rootsTell},
		{"rewritten, never asked", func(c *rootsChange) { c.rewritten = true }, rootsReplace},
		{"rewritten, same arguments", func(c *rootsChange) { c.rewritten, c.sameArgs = true, true }, rootsKeep},
		{"rewritten, to nothing", func(c *rootsChange) { c.rewritten, c.asked, c.empty = true, true, true }, rootsReplace},
		{"probe, to nothing", func(c *rootsChange) { c.probe, c.asked, c.empty = true, true, true }, rootsReplace},
		{"probe, not yet asked", func(c *rootsChange) { c.probe = true }, rootsTell},
		{"probe, rewritten, not yet asked", func(c *rootsChange) { c.probe, c.rewritten = true, true }, rootsReplace},
		{"asked, to nothing", func(c *rootsChange) { c.asked, c.empty = true, true }, rootsTell},
		{"placeholder", func(c *rootsChange) { c.placeholder, c.asked = true, true }, rootsReplace},
		{"placeholder, same arguments", func(c *rootsChange) { c.placeholder, c.sameArgs = true, true }, rootsKeep},
		{"working directory gone", func(c *rootsChange) { c.cwdGone, c.asked, c.sameArgs = true, true, true }, rootsReplace},
		{"early, other launch", func(c *rootsChange) { c.early, c.sameArgs, c.sameRoots = true, true, true }, rootsReplace},
		{"early, same launch", func(c *rootsChange) { c.early, c.sameLaunch, c.sameRoots = true, true, true }, rootsKeep},
	} {
		x := base
		c.set(&x)
		if got := x.decide(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestProbeShows(t *testing.T) {
	result := func(text string) []byte {
		return []byte(`{"content":[{"type":"image","data":""},{"type":"text","text":"` + text + `"}]}`)
	}
	for _, c := range []struct {
		raw   []byte
		paths []string
		want  bool
	}{
		{result(`Allowed directories:\n/a\n/b c/`), []string{"/b c", "/a"}, true},
		{result(`Allowed directories:\n/a\n/a`), []string{"/a", "/a"}, true},
		{result(`Allowed directories:\n/a\n/b`), []string{"/a"}, false},
		{result(`Allowed directories:\n/a`), []string{"/a", "/b"}, false},
		{result(`Allowed directories:\n/ab`), []string{"/a"}, false},
		{[]byte(`{"content":7}`), nil, false},
		{[]byte(`{}`), nil, false},
	} {
		if got := probeShows(c.raw, c.paths); got != c.want {
			t.Errorf("%s for %q: %t", c.raw, c.paths, got)
		}
	}
}
