package rootsmgr

import (
	"errors"
	"fmt"
	"strings"

	"mcphub/rootsmgr/pattern"
	"mcphub/rootsmgr/platform"
)

// This file opens the directories that match a pattern and exist. A directory that is
// really called so is no pattern.

// isNothing reports that there is no such path, or can be none.
func (e *eyes) isNothing(raw string) bool {
	end, why := e.walk(raw)
	return why == nil && (end.missing > 0 || end.void) || why != nil && why.cause == CauseTooLong
}

// spread makes candidates of the directories that match a pattern, or reports
// why there are none.
func (b *builder) spread(entry Entry) {
	skip := func(path, reason string) int {
		return b.skip(Skipped{Raw: entry.URI, Name: entry.Name, Reason: reason, Path: path})
	}
	p := b.eyes.platform
	g, err := pattern.Parse(p, entry.Pattern)
	if err != nil {
		skip("", err.Error())
		return
	}
	raw := strings.TrimSuffix(entry.URI, entry.Pattern)
	base, err := b.eyes.canonical(raw)
	if err == nil && base.file {
		err = errNoDir
	}
	if err != nil {
		at := skip(base.given, fmt.Sprintf("it is a pattern, and its directory %s cannot be used: %v", platform.Quote(base.given), err))
		b.late.await(raw, g, base, at)
		return
	}
	names, err := g.Matches(b.eyes.FS, p, base.path)
	if err != nil {
		skip("", err.Error())
		return
	}
	some := false
	for _, name := range names {
		f, err := b.eyes.canonical(p.Join(base.given, p.Slashed(name)))
		switch {
		case f.file || errors.Is(err, errMissing):
			continue // no directory, or a link to nothing
		case err == nil && !p.Below(f.path, base.path):
			err = fmt.Errorf("it matches the pattern, and is a link that leads out of %s to %s: name it by itself to open it", platform.Quote(base.given), platform.Quote(f.path))
		}
		some = true
		if err != nil {
			b.skip(Skipped{Raw: f.given, Name: entry.Name, Reason: err.Error(), Path: f.given})
			continue
		}
		b.candidates = append(b.candidates, candidate{f, Entry{URI: f.given, Name: entry.Name}})
	}
	at := -1
	if !some {
		at = skip("", "it is a pattern that matches no directory")
	}
	b.late.await(raw, g, base, at)
}
