package rootsmgr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// Bounds on what one list of roots may cost. Entries beyond maxEntries are not
// looked at, usable ones beyond maxRoots are not kept, and reasons beyond
// maxSkipped are counted only; each is reported as one more Skipped.
const (
	maxEntries = 200_000
	maxRoots   = 10_000
	maxSkipped = 1_000
	maxRaw     = 1_024 // bytes of Skipped.Raw
)

// RootEntry is one root as given, unchecked: a URI from a client, or a path or URI
// from a setting.
type RootEntry struct {
	URI, Name string
	Pattern   string // the part of URI that is a pattern, "" for none. A directory with that very name wins.
}

// Values of Root.Flag.
const (
	FlagFilesystem = "filesystem root"
	FlagHome       = "home folder"
)

// Directories returns the directories of some roots that are no single files.
func Directories(roots []guard.Root) []guard.Root {
	return slices.DeleteFunc(slices.Clone(roots), func(r guard.Root) bool { return r.File })
}

// Skipped is an entry that gave no root, and why. Raw may hold anything that a
// client sends: escape it before it is shown.
type Skipped struct {
	Raw, Name, Reason string
	Path              string // the absolute path that it names; "" if that cannot be said
}

// Origin is where the roots of a Snapshot come from.
type Origin uint8

const (
	OriginNone        Origin = iota // no one: no roots are known
	OriginAsked                     // the client, asked
	OriginWithCall                  // the client, with the call itself
	OriginFlag                      // --roots
	OriginEnvironment               // MCPHUB_ROOTS
	OriginConfig                    // roots.fallback in hub.json
	OriginProject                   // MCPHUB_PROJECT_ROOT
	OriginCeiling                   // Settings.Ceiling alone
	OriginEntry                     // roots of a server's entry in hub.json
	OriginGuess                     // the project that the client's working directory lies in
)

var origins = [...]string{"none", "asked", "inline", "flag", "environment", "config", "project", "ceiling", "entry", "project (guessed)"}

func (o Origin) String() string {
	if int(o) >= len(origins) {
		return origins[OriginNone]
	}
	return origins[o]
}

// fromClient reports whether entries must be URIs.
func (o Origin) fromClient() bool { return o == OriginAsked || o == OriginWithCall }

// Snapshot is a session's roots as of one generation. It never changes and
// holds no descriptors. A nil Snapshot has no roots, and its Guard denies.
type Snapshot struct {
	generation uint64
	origin     Origin
	at         time.Time
	roots      []guard.Root
	skipped    []Skipped
	others     []RootEntry
	files      []string
	reasons    map[string]int // by path: which of skipped names it
	late       late
	made       blueprint
	behind     []*Snapshot // the ones that it was made of: that of an answer without a usable root, a ceiling's
	entries    int
	guard      *guard.Guard
}

// NewSnapshot makes the canonical roots of entries as the filesystem is now.
// It never fails: what cannot be a root goes to Skipped, after what
// was skipped before. Two entries for one directory make one root; the first
// keeps its place and name. Bounded: 200,000 entries are looked at, 10,000
// roots kept, 1,000 reasons listed, each with 1,024 bytes of what was sent, and
// what is beyond is counted.
func NewSnapshot(fsys guard.FS, generation uint64, origin Origin, entries []RootEntry, skipped ...Skipped) *Snapshot {
	return blueprint{entries: entries, skipped: skipped}.snapshot(fsys, generation, origin)
}

// A blueprint is all that a Snapshot is made of, beside the filesystem.
type blueprint struct {
	entries []RootEntry
	skipped []Skipped // before anything was looked at
	top     *Snapshot // the ceiling, nil for none
	mapping Mapping   // of roots that come from a client
	places  []string  // directories beside the roots that servers may write in: see nested.go
}

// snapshot makes a Snapshot as the filesystem is now.
func (bp blueprint) snapshot(fsys guard.FS, generation uint64, origin Origin) *Snapshot {
	b := newBuilder(fsys, &Snapshot{generation: generation, origin: origin, at: time.Now(), entries: len(bp.entries)}, bp)
	for _, s := range bp.skipped {
		b.skipEntry(s)
	}
	for i, entry := range bp.entries {
		if i == maxEntries {
			b.reportOverflow(fmt.Sprintf("%d more entries were not looked at: a list may hold %d", len(bp.entries)-i, maxEntries))
			break
		}
		b.lookAt(entry)
	}
	return b.finishSnapshot()
}

// builder collects one Snapshot: it looks at each entry, and then opens the
// ones that may be roots, in the order in which they came.
type builder struct {
	*Snapshot
	blueprint
	disk              guard.Disk
	index             *guard.Index
	home              func() guard.RootCandidate // the user's home folder
	candidates        []candidate
	unlisted, dropped int
}

// A candidate is an entry that is there.
type candidate struct {
	guard.RootCandidate
	entry   RootEntry
	matched bool // it was not named, and matches a pattern
}

func newBuilder(fsys guard.FS, s *Snapshot, bp blueprint) *builder {
	s.made = bp
	b := &builder{Snapshot: s, blueprint: bp, disk: guard.NewDisk(fsys), index: guard.NewIndex()}
	b.home = sync.OnceValue(b.disk.HomeFolder)
	if bp.top != nil {
		s.behind = []*Snapshot{bp.top}
	}
	return b
}

// skipEntry reports an entry and returns its number among those reported, -1 if
// there are too many.
func (b *builder) skipEntry(s Skipped) int {
	if len(b.Snapshot.skipped) >= maxSkipped {
		b.unlisted++
		return -1
	}
	s.Raw = platform.Clip(s.Raw, maxRaw)
	number := len(b.Snapshot.skipped)
	b.Snapshot.skipped = append(b.Snapshot.skipped, s)
	if _, isReported := b.reasons[s.Path]; s.Path != "" && !isReported {
		if b.reasons == nil {
			b.reasons = map[string]int{}
		}
		b.reasons[s.Path] = number
	}
	return number
}

// reportOverflow reports what a bound left out, beyond the bound on reasons.
func (b *builder) reportOverflow(reason string) {
	b.Snapshot.skipped = append(b.Snapshot.skipped, Skipped{Reason: reason})
}

// lookAt makes one entry a candidate, or skips it.
func (b *builder) lookAt(entry RootEntry) {
	raw, mapped := entry.URI, false
	if b.origin.fromClient() {
		if path, ok := b.mapping.mapPath(b.disk.Platform, raw); ok {
			raw, mapped = path, true
		}
	}
	if !mapped && (b.origin.fromClient() || platform.IsFileURI(raw)) {
		path, err := b.disk.Platform.ParseRootURI(raw)
		if err != nil {
			if b.origin.fromClient() && platform.HasOtherScheme(raw) && len(b.others) < maxSkipped {
				b.others = append(b.others, RootEntry{URI: raw, Name: entry.Name})
			}
			reason := err.Error()
			if bad, ok := errors.AsType[*platform.URIError](err); ok {
				reason = bad.Reason
			}
			b.skipEntry(Skipped{Raw: raw, Name: entry.Name, Reason: reason})
			return
		}
		raw = path
	}
	if share, remote := b.disk.Platform.Remote(raw); remote && b.top != nil && !b.top.Guard().NamesShare(share) {
		b.skipEntry(Skipped{Raw: entry.URI, Name: entry.Name, Reason: reasonAbove})
		return // the operator's directories are on no such host
	}
	f, err := b.disk.Canonical(raw)
	if errors.Is(err, guard.ErrMissing) {
		b.late.noteMissing(b.disk.Platform, raw, f)
	}
	if err != nil && entry.Pattern != "" && b.disk.IsAbsent(raw) {
		b.spreadPattern(entry)
		return
	}
	if err != nil {
		b.skipEntry(Skipped{Raw: entry.URI, Name: entry.Name, Reason: err.Error(), Path: f.Given})
		return
	}
	b.candidates = append(b.candidates, candidate{RootCandidate: f, entry: entry})
}

// openRoot makes a candidate a root, or a further spelling of one.
func (b *builder) openRoot(f guard.RootCandidate, name string) {
	p := b.disk.Platform
	i := b.index.FindExact(&b.disk, f.Path)
	if i < 0 {
		if len(b.roots) >= maxRoots {
			b.dropped++
			return
		}
		i = len(b.roots)
		b.roots = append(b.roots, guard.Root{
			URI: p.FormatURI(f.Path), Name: name, Path: f.Path, Given: f.Given, File: f.File, Flag: b.flagRoot(f),
		})
		if f.File {
			b.files = append(b.files, f.Path)
			b.index.AddFile(int32(i))
		}
		b.index.Add(p, f.Path, int32(i), true)
		for _, alias := range b.disk.Aliases(f.Path, b.home()) {
			b.index.Add(p, alias, int32(i), false)
		}
	} else if b.roots[i].Name == "" {
		b.roots[i].Name = name
	}
	b.index.Add(p, f.Given, int32(i), false)
}

func (b *builder) flagRoot(f guard.RootCandidate) string {
	switch {
	case len(f.Path) == b.disk.Platform.RootLen(f.Path):
		return FlagFilesystem
	case b.home().Path != "" && (f.Path == b.home().Path || f.Given == b.home().Given):
		return FlagHome
	}
	return ""
}

func (b *builder) finishSnapshot() *Snapshot { return b.keepRoots(b.admissibleCandidates()) }

// keepRoots makes roots of candidates that are admitted, as far as the ceiling opens them.
func (b *builder) keepRoots(candidates []candidate) *Snapshot {
	for _, c := range candidates {
		if b.top == nil || b.top.containsRoot(c.RootCandidate) {
			b.openRoot(c.RootCandidate, c.entry.Name)
			continue
		}
		b.narrowToCeiling(c)
	}
	p := b.disk.Platform
	for i := range b.roots {
		path := b.roots[i].Path
		if len(path) == p.RootLen(path) {
			continue
		}
		_, b.roots[i].Redundant = b.index.Above(&b.disk, p.Parent(path))
	}
	if b.unlisted > 0 {
		b.reportOverflow(fmt.Sprintf("%d more entries were skipped", b.unlisted))
	}
	if b.dropped > 0 {
		b.reportOverflow(fmt.Sprintf("%d more roots were left out: %d are kept", b.dropped, maxRoots))
	}
	b.index.Roots = b.roots
	b.guard = guard.New(b.disk, b.index)
	return b.Snapshot
}

// withoutRoots returns the Snapshot with no roots left; its Guard still resolves paths.
func (s *Snapshot) withoutRoots() *Snapshot {
	return &Snapshot{generation: s.Generation(), at: s.At(), guard: guard.New(s.Guard().Disk(), nil), others: s.OtherSchemes()}
}

// orNone returns s, or the Snapshot without roots for nil.
func (s *Snapshot) orNone() *Snapshot { return cmp.Or(s, &noRoots) }

var noRoots Snapshot

// Generation returns the number of the query that this Snapshot answers. The
// numbers of two Managers cannot be compared.
func (s *Snapshot) Generation() uint64 { return s.orNone().generation }

// Origin returns the origin of the roots.
func (s *Snapshot) Origin() Origin { return s.orNone().origin }

// At returns the time when the roots were made canonical.
func (s *Snapshot) At() time.Time { return s.orNone().at }

// Roots returns the roots in the order given. The slice is the caller's.
func (s *Snapshot) Roots() []guard.Root { return slices.Clone(s.orNone().roots) }

// Files returns the paths of the roots that are single files. The slice must
// not be changed.
func (s *Snapshot) Files() []string { return s.orNone().files }

// Len returns the number of roots.
func (s *Snapshot) Len() int { return len(s.orNone().roots) }

// Skipped returns the entries that gave no root. The slice is the caller's.
func (s *Snapshot) Skipped() []Skipped { return slices.Clone(s.orNone().skipped) }

// OtherSchemes returns the client's roots of other schemes than file, as they came:
// the first 1,000. They are reported by Skipped too, and open nothing here. The
// slice is the caller's.
func (s *Snapshot) OtherSchemes() []RootEntry {
	s = s.orNone()
	out := slices.Clone(s.others)
	for _, b := range s.behind { // configured directories replace the client's, but not its roots of other schemes
		out = append(out, b.OtherSchemes()...)
	}
	return out
}

// URIs returns the canonical URIs in the order given, never nil.
func (s *Snapshot) URIs() []string { return s.mapRoots(func(r *guard.Root) string { return r.URI }) }

// Paths returns the canonical paths in the order given, never nil.
func (s *Snapshot) Paths() []string { return s.mapRoots(func(r *guard.Root) string { return r.Path }) }

func (s *Snapshot) mapRoots(of func(*guard.Root) string) []string {
	out := make([]string, s.Len())
	for i := range out {
		out[i] = of(&s.roots[i])
	}
	return out
}

// Guard judges paths by these roots. Never nil.
func (s *Snapshot) Guard() *guard.Guard {
	if g := s.orNone().guard; g != nil {
		return g
	}
	return &guard.Guard{}
}
