package servedroots

import (
	"testing"
)

func TestRootsDecision(t *testing.T) {
	t.Parallel()
	base := Change{List: true, SamePlace: true}
	for _, c := range []struct {
		name string
		set  func(*Change)
		want Action
	}{
		{"never asked", func(*Change) {}, Keep},
		{"asked", func(c *Change) { c.Asked = true }, Tell},
		{"asked, the same", func(c *Change) { c.Asked, c.SameRoots = true, true }, Keep},
		{"not served", func(c *Change) { c.Asked, c.List = true, false }, Keep},
		{"rewritten, asked", func(c *Change) { c.Rewritten, c.Asked = true, true }, Tell},
		{"rewritten, never asked", func(c *Change) { c.Rewritten = true }, Replace},
		{"rewritten, same arguments", func(c *Change) { c.Rewritten, c.SameArgs = true, true }, Keep},
		{"rewritten, to nothing", func(c *Change) { c.Rewritten, c.Asked, c.Empty = true, true, true }, Replace},
		{"probe, to nothing", func(c *Change) { c.Probe, c.Asked, c.Empty = true, true, true }, Replace},
		{"probe, not yet asked", func(c *Change) { c.Probe = true }, Tell},
		{"probe, rewritten, not yet asked", func(c *Change) { c.Probe, c.Rewritten = true, true }, Replace},
		{"asked, to nothing", func(c *Change) { c.Asked, c.Empty = true, true }, Tell},
		{"placeholder", func(c *Change) { c.Placeholder, c.Asked = true, true }, Replace},
		{"placeholder, same arguments", func(c *Change) { c.Placeholder, c.SameArgs = true, true }, Keep},
		{"working directory gone", func(c *Change) { c.CwdGone, c.Asked, c.SameArgs = true, true, true }, Replace},
		{"early, other launch", func(c *Change) { c.Early, c.SameArgs, c.SameRoots = true, true, true }, Replace},
		{"early, has waited, another environment", func(c *Change) { c.Early, c.Waited, c.SameArgs, c.SameRoots = true, true, true, true }, Keep},
		{"early, has waited, another directory", func(c *Change) {
			c.Early, c.Waited, c.SameArgs, c.SamePlace, c.SameRoots = true, true, true, false, true
		}, Replace},
		{"early, same launch", func(c *Change) { c.Early, c.SameLaunch, c.SameRoots = true, true, true }, Keep},
	} {
		x := base
		c.set(&x)
		if got := x.Decide(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestProbeShows(t *testing.T) {
	t.Parallel()
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
		if got := Shows(c.raw, c.paths); got != c.want {
			t.Errorf("%s for %q: %t", c.raw, c.paths, got)
		}
	}
}
