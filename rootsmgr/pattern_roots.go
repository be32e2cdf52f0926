package rootsmgr

import (
	"errors"
	"fmt"
	"strings"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/pattern"
	"mcphub/rootsmgr/platform"
)

// This file opens the directories that match a pattern. If a directory has the very
// name of the pattern, it is not read as a pattern.

// spreadPattern makes candidates of the directories that match a pattern, or reports
// why there are none.
func (b *builder) spreadPattern(entry RootEntry) {
	skip := func(path, reason string) int {
		return b.skipEntry(Skipped{Raw: entry.URI, Name: entry.Name, Reason: reason, Path: path})
	}
	p := b.disk.Platform
	g, err := pattern.Parse(p, entry.Pattern)
	if err != nil {
		skip("", err.Error())
		return
	}
	raw := strings.TrimSuffix(entry.URI, entry.Pattern)
	base, err := b.disk.Canonical(raw)
	if err == nil && base.File {
		err = guard.ErrNoDir
	}
	if err != nil {
		at := skip(base.Given, fmt.Sprintf("it is a pattern, and its directory %s cannot be used: %v", platform.Quote(base.Given), err))
		b.late.addPattern(raw, g, base, at)
		return
	}
	names, err := g.Matches(b.disk.FS, p, base.Path)
	if err != nil {
		skip("", err.Error())
		return
	}
	some := false
	for _, name := range names {
		f, err := b.disk.Canonical(p.Join(base.Given, p.FromSlash(name)))
		switch {
		case f.File || errors.Is(err, guard.ErrMissing):
			continue // no directory, or a link to nothing
		case err == nil && !p.Below(f.Path, base.Path):
			err = fmt.Errorf("it matches the pattern, and is a link that leads out of %s to %s: name it by itself to open it", platform.Quote(base.Given), platform.Quote(f.Path))
		}
		some = true
		if err != nil {
			b.skipEntry(Skipped{Raw: f.Given, Name: entry.Name, Reason: err.Error(), Path: f.Given})
			continue
		}
		b.candidates = append(b.candidates, candidate{f, RootEntry{URI: f.Given, Name: entry.Name}, true})
	}
	at := -1
	if !some {
		at = skip("", "it is a pattern that matches no directory")
	}
	b.late.addPattern(raw, g, base, at)
}
