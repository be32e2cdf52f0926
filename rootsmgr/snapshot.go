package rootsmgr

import (
	"fmt"
	"slices"
	"time"
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

// Entry is one root as given, unchecked: a URI from a client, or a path or URI
// from a setting.
type Entry struct{ URI, Name string }

// Root is one open directory: the name the user knows and the place the
// filesystem knows.
type Root struct {
	URI       string // canonical, of Path: lower-case file://, percent-encoded
	Name      string // as given, may be ""
	Path      string // absolute, symlinks resolved, spelled as the filesystem has it
	Given     string // absolute, cleaned, before symlinks were resolved
	Redundant bool   // lies below another root
	Flag      string // "" or one of the Flag constants: perhaps more than was meant
}

// Values of Root.Flag.
const (
	FlagFilesystem = "filesystem root"
	FlagHome       = "home folder"
	FlagLinked     = "through a link inside another root" // which what is in that root may have planted
)

// Skipped is an entry that gave no root, and why. Raw may hold anything that a
// client sends: escape it before it is shown.
type Skipped struct{ Raw, Name, Reason string }

// Origin is who vouched for a Snapshot.
type Origin uint8

const (
	OriginNone        Origin = iota // nobody: no roots are known
	OriginAsked                     // the client, asked
	OriginInline                    // the client, beside the call itself
	OriginFlag                      // --roots
	OriginEnvironment               // MCPHUB_ROOTS
	OriginConfig                    // roots.fallback in hub.json
	OriginProject                   // MCPHUB_PROJECT_ROOT
	OriginCeiling                   // nobody but Settings.Ceiling, which is then all there is
)

func (o Origin) String() string {
	switch o {
	case OriginAsked:
		return "asked"
	case OriginInline:
		return "inline"
	case OriginFlag:
		return "flag"
	case OriginEnvironment:
		return "environment"
	case OriginConfig:
		return "config"
	case OriginProject:
		return "project"
	case OriginCeiling:
		return "ceiling"
	}
	return "none"
}

// fromClient reports whether entries must be URIs.
func (o Origin) fromClient() bool { return o == OriginAsked || o == OriginInline }

// Snapshot is a session's roots as of one generation. It never changes and
// holds no descriptors. A nil Snapshot has no roots, and its Guard denies.
type Snapshot struct {
	generation uint64
	origin     Origin
	at         time.Time
	roots      []Root
	skipped    []Skipped
	others     []Entry
	entries    int
	guard      *Guard
}

// NewSnapshot makes the canonical roots of entries as the filesystem is now
// (R12, R13). It never fails: what cannot be a root goes to Skipped, after what
// was skipped before. Two entries for one directory make one root; the first
// keeps its place and name. Bounded: 200,000 entries are looked at, 10,000
// roots kept, 1,000 reasons listed, each with 1,024 bytes of what was sent, and
// what is beyond is counted.
func NewSnapshot(fsys FS, generation uint64, origin Origin, entries []Entry, skipped ...Skipped) *Snapshot {
	return newSnapshot(fsys, generation, origin, entries, nil, skipped)
}

// newSnapshot is NewSnapshot under a ceiling; nil is none.
func newSnapshot(fsys FS, generation uint64, origin Origin, entries []Entry, top *Snapshot, skipped []Skipped) *Snapshot {
	if fsys == nil {
		fsys = noFS{}
	}
	b := builder{
		Snapshot: &Snapshot{generation: generation, origin: origin, at: time.Now(), entries: len(entries)},
		eyes:     newEyes(fsys),
		index:    newIndex(),
		top:      top,
	}
	if home := homeOf(fsys); home != "" {
		b.homeGiven, b.homePath, _ = b.eyes.canonical(home)
	}
	for _, s := range skipped {
		b.skip(s)
	}
	for i, entry := range entries {
		if i == maxEntries {
			b.overflow(fmt.Sprintf("%d more entries were not looked at: a list may hold %d", len(entries)-i, maxEntries))
			break
		}
		b.add(entry)
	}
	return b.finish()
}

// builder collects one Snapshot.
type builder struct {
	*Snapshot
	eyes                eyes
	index               *index
	top                 *Snapshot // the ceiling, nil for none
	homeGiven, homePath string
	unlisted, dropped   int
}

func (b *builder) skip(s Skipped) {
	if len(b.skipped) >= maxSkipped {
		b.unlisted++
		return
	}
	s.Raw = clip(s.Raw, maxRaw)
	b.skipped = append(b.skipped, s)
}

// overflow reports what a bound left out, beyond the bound on reasons.
func (b *builder) overflow(reason string) {
	b.skipped = append(b.skipped, Skipped{Reason: reason})
}

// add makes one entry a root, or a further spelling of one, or skips it.
func (b *builder) add(entry Entry) {
	p := b.eyes.platform
	raw := entry.URI
	if b.origin.fromClient() || IsFileURI(raw) {
		path, err := p.ParseRootURI(raw)
		if err != nil {
			if b.origin.fromClient() && hasOtherScheme(raw) && len(b.others) < maxSkipped {
				b.others = append(b.others, Entry{URI: raw, Name: entry.Name})
			}
			b.skip(Skipped{raw, entry.Name, err.(*URIError).Reason}) //nolint:forcetypeassert // its only type
			return
		}
		raw = path
	}
	given, path, err := b.eyes.canonical(raw)
	if err != nil {
		b.skip(Skipped{entry.URI, entry.Name, err.Error()})
		return
	}
	if b.top == nil || b.top.contains(path) {
		b.open(given, path, entry.Name)
		return
	}
	b.narrow(entry, path)
}

// open makes a directory a root, or a spelling a further one of a root.
func (b *builder) open(given, path, name string) {
	p := b.eyes.platform
	i := b.known(path)
	if i < 0 {
		if len(b.roots) >= maxRoots {
			b.dropped++
			return
		}
		i = len(b.roots)
		b.roots = append(b.roots, Root{
			URI: p.FormatURI(path), Name: name, Path: path, Given: given, Flag: b.flag(given, path),
		})
		b.index.add(p, path, int32(i), true)
		for _, alias := range b.eyes.aliases(path, b.homeGiven, b.homePath) {
			b.index.add(p, alias, int32(i), false)
		}
	} else if b.roots[i].Name == "" {
		b.roots[i].Name = name
	}
	b.index.add(p, given, int32(i), false)
}

// known is the root that is the directory path already, or -1.
func (b *builder) known(path string) int {
	at, ok := b.index.find(b.eyes.platform, path, true)
	if !ok || at.end != len(path) {
		at, ok = b.index.findFolded(&b.eyes, path, true)
	}
	if !ok || at.end != len(path) {
		return -1
	}
	return at.root
}

func (b *builder) flag(given, path string) string {
	p := b.eyes.platform
	switch {
	case len(path) == p.rootLen(path):
		return FlagFilesystem
	case b.homePath != "" && (path == b.homePath || given == b.homeGiven):
		return FlagHome
	}
	return ""
}

func (b *builder) finish() *Snapshot {
	p := b.eyes.platform
	for i := range b.roots {
		path := b.roots[i].Path
		if len(path) == p.rootLen(path) {
			continue
		}
		_, inside := b.index.find(p, p.parent(path), true)
		if !inside {
			_, inside = b.index.findFolded(&b.eyes, p.parent(path), true)
		}
		b.roots[i].Redundant = inside
		if given := b.roots[i].Given; !inside && given != path && b.roots[i].Flag == "" {
			if at, ok := b.index.find(p, p.parent(given), false); ok && at.root != i {
				b.roots[i].Flag = FlagLinked
			}
		}
	}
	if b.unlisted > 0 {
		b.overflow(fmt.Sprintf("%d more entries were skipped", b.unlisted))
	}
	if b.dropped > 0 {
		b.overflow(fmt.Sprintf("%d more roots were left out: %d are kept", b.dropped, maxRoots))
	}
	b.index.roots = b.roots
	b.guard = &Guard{eyes: b.eyes, sets: []*index{b.index}}
	return b.Snapshot
}

// closed is the Snapshot with no roots left; its Guard still resolves paths.
func (s *Snapshot) closed() *Snapshot {
	return &Snapshot{generation: s.Generation(), at: s.At(), guard: &Guard{eyes: s.Guard().eyes}}
}

// Generation is the number of the query that this Snapshot answers. Those of
// two Managers cannot be compared.
func (s *Snapshot) Generation() uint64 {
	if s == nil {
		return 0
	}
	return s.generation
}

// Origin is who vouched for the roots.
func (s *Snapshot) Origin() Origin {
	if s == nil {
		return OriginNone
	}
	return s.origin
}

// At is when the roots were made canonical.
func (s *Snapshot) At() time.Time {
	if s == nil {
		return time.Time{}
	}
	return s.at
}

// Roots returns the roots in the order given. The slice is the caller's.
func (s *Snapshot) Roots() []Root {
	if s == nil {
		return nil
	}
	return slices.Clone(s.roots)
}

// Len is the number of roots.
func (s *Snapshot) Len() int {
	if s == nil {
		return 0
	}
	return len(s.roots)
}

// Skipped returns the entries that gave no root. The slice is the caller's.
func (s *Snapshot) Skipped() []Skipped {
	if s == nil {
		return nil
	}
	return slices.Clone(s.skipped)
}

// Others returns the client's roots of other schemes than file, as they came:
// the first 1,000. They are reported by Skipped too, and open nothing here. The
// slice is the caller's.
func (s *Snapshot) Others() []Entry {
	if s == nil {
		return nil
	}
	return slices.Clone(s.others)
}

// URIs returns the canonical URIs in the order given, never nil.
func (s *Snapshot) URIs() []string { return s.each(func(r *Root) string { return r.URI }) }

// Paths returns the canonical paths in the order given, never nil.
func (s *Snapshot) Paths() []string { return s.each(func(r *Root) string { return r.Path }) }

func (s *Snapshot) each(of func(*Root) string) []string {
	out := make([]string, s.Len())
	for i := range out {
		out[i] = of(&s.roots[i])
	}
	return out
}

// Guard judges paths by these roots. Never nil.
func (s *Snapshot) Guard() *Guard {
	if s == nil || s.guard == nil {
		return &Guard{}
	}
	return s.guard
}
