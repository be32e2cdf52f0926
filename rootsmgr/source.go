package rootsmgr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/pattern"
	"mcphub/rootsmgr/platform"
)

// Page is one answer of a client. Skipped holds elements of the list that are no
// entries: not an object, or without a uri that is a string.
type Page struct {
	Entries    []RootEntry
	Skipped    []Skipped
	NextCursor string // "" on the last page
}

// Err reports a malformed answer: a list whose elements are all no entries. An
// empty list is a valid answer.
func (p Page) Err() error {
	if len(p.Entries) > 0 || len(p.Skipped) == 0 {
		return nil
	}
	return fmt.Errorf("%w: none of its %d entries is an object with a string uri", ErrMalformed, len(p.Skipped))
}

// A RootsSource wraps these errors, so that a Manager knows what they mean.
var (
	// ErrBadCursor: the client no longer knows the cursor (-32602 on one).
	ErrBadCursor = errors.New("the client rejected the cursor")
	// ErrMalformed: the answer is no list of roots.
	ErrMalformed = errors.New("the client's answer is no list of roots")
)

// RootsSource asks one client for its roots. ListRoots sends one question and
// returns one page of the answer; it must return soon after ctx has ended, and
// an answer that comes later is the RootsSource's to drop. A Manager never calls it
// twice at once.
type RootsSource interface {
	ListRoots(ctx context.Context, cursor string) (Page, error)
}

// readier is a RootsSource that cannot always send: over HTTP a question needs an
// open stream. AwaitReady returns once it can. The time allowed for an answer starts
// then, and what has changed before then is part of the answer.
type readier interface {
	AwaitReady(ctx context.Context) error
}

// Fallback is what an operator configured for clients that cannot give roots.
// The zero value is none.
type Fallback struct {
	Origin  Origin
	Entries []RootEntry // absolute paths
	// Guess is the project of a client over stdio. It counts if that client cannot give roots, and if nothing was configured.
	Guess Guess
}

// IsEmpty reports whether nothing was configured.
func (f Fallback) IsEmpty() bool { return f.Origin == OriginNone || len(f.Entries) == 0 }

// Guess is a project that was found from a working directory. The zero value is none.
type Guess struct {
	Project RootEntry // a directory
	WorkDir RootEntry // as the client has it: if no root can be made of it, none is made of Project
	Refused string    // why the project counts for nothing; Project is zero then
}

// snapshot returns the Guess as the filesystem is now. A working directory that was reached by a link which a server could have made leads
// to no project.
func (guess Guess) snapshot(fsys guard.FS, generation uint64, bp blueprint) *Snapshot {
	if guess.Refused != "" {
		bp.skipped = append(bp.skipped, Skipped{Raw: guess.WorkDir.URI, Reason: guess.Refused})
		return bp.snapshot(fsys, generation, OriginGuess)
	}
	bp.entries = []RootEntry{guess.WorkDir}
	if from := bp.snapshot(fsys, generation, OriginGuess); from.Len() == 0 {
		return from
	}
	bp.entries = []RootEntry{guess.Project}
	return bp.snapshot(fsys, generation, OriginGuess)
}

// Names of the environment variables that roots may stand in.
const (
	EnvRoots       = "MCPHUB_ROOTS"
	EnvProjectRoot = "MCPHUB_PROJECT_ROOT"
)

// FallbackInput is all that the fallback chain depends on.
type FallbackInput struct {
	Flag      []string                    // --roots, as SplitRoots has it; nil if it was not given
	Env       func(string) (string, bool) // os.LookupEnv; nil for none
	Config    []RootEntry                 // roots.fallback of hub.json: path (or file URI) and name
	ConfigDir string                      // the folder of hub.json, "" if there is none
	WorkDir   string                      // absolute
	FS        guard.FS
}

// BuildFallback chooses the first level that gives roots: --roots,
// MCPHUB_ROOTS, roots.fallback, MCPHUB_PROJECT_ROOT. Relative paths start from
// MCPHUB_PROJECT_ROOT, else from the folder of hub.json, else from the working
// directory; the paths of the flag always from the working directory, as a
// shell user means them. "~" and "~/x" are the home folder. All but the last
// may be patterns.
//
// The flag and the environment fail fast: every directory named there must
// exist and be readable, or the error names each that is not. An entry of
// hub.json that is not usable is returned as a warning; it stays in the
// Fallback, whose Snapshot reports it, as long as another is usable. Where none
// is, the next level is tried, and if there is no next level the Fallback keeps
// the unusable entries, so that the case is "failed" and never "no fallback was
// configured".
func BuildFallback(input FallbackInput) (Fallback, []Skipped, error) {
	c := chain{in: input, disk: guard.NewDisk(input.FS)}
	project, hasProject := c.getVariable(EnvProjectRoot)
	if hasProject {
		project = c.absolutePath(project, input.WorkDir)
	}
	base := cmp.Or(project, input.ConfigDir, input.WorkDir)

	if input.Flag != nil {
		return c.readStrict(OriginFlag, "--roots", input.Flag, input.WorkDir)
	}
	if list, ok := c.getVariable(EnvRoots); ok {
		return c.readStrict(OriginEnvironment, EnvRoots, strings.Split(list, c.disk.Platform.ListSep()), base)
	}
	config, usable, warnings := c.readTolerant(base)
	if usable {
		return config, warnings, nil
	}
	if hasProject {
		f, more, err := c.readStrict(OriginProject, EnvProjectRoot, []string{project}, input.WorkDir)
		return f, append(warnings, more...), err
	}
	return config, warnings, nil
}

// SplitRoots splits the list of --roots at its commas, but for those in braces:
// "a,b/{c,d}" is "a" and "b/{c,d}". A brace without its other half is none.
func SplitRoots(list string) []string {
	closed := map[int]bool{} // braces that have their other half
	var open []int
	for i := range len(list) {
		switch list[i] {
		case '{':
			open = append(open, i)
		case '}':
			if n := len(open); n > 0 {
				closed[open[n-1]], closed[i] = true, true
				open = open[:n-1]
			}
		}
	}
	var out []string
	start, depth := 0, 0
	for i := range len(list) {
		switch {
		case list[i] == '{' && closed[i]:
			depth++
		case list[i] == '}' && closed[i]:
			depth--
		case list[i] == ',' && depth == 0:
			out = append(out, list[start:i])
			start = i + 1
		}
	}
	return append(out, list[start:])
}

// chain evaluates one FallbackInput.
type chain struct {
	in   FallbackInput
	disk guard.Disk
}

// getVariable returns a variable that is set and not empty. Blanks count as a value:
// what was meant to be a boundary must not be taken for none.
func (c *chain) getVariable(name string) (string, bool) {
	if c.in.Env == nil {
		return "", false
	}
	v, _ := c.in.Env(name)
	return v, v != ""
}

func (c *chain) absolutePath(path, base string) string { return c.makeEntry(path, base).URI }

func (c *chain) makeEntry(path, base string) RootEntry { return SettingEntry(c.in.FS, path, base) }

// SettingEntry returns the entry of a path as an operator writes it, which may
// be a pattern: "~" is the home folder, and a relative path lies below base.
// Neither of these two is a part of the pattern, whatever they hold.
func SettingEntry(fsys guard.FS, path, base string) RootEntry {
	p := guard.PlatformOf(fsys)
	path = p.FromSlash(p.FromMSYS(path))
	entry := func(dir, rel string) RootEntry {
		whole := p.Join(dir, rel)
		return RootEntry{URI: whole, Pattern: pattern.Tail(p, whole, len(whole)-len(rel))}
	}
	if home := guard.HomeOf(fsys); home != "" {
		if path == "~" {
			return RootEntry{URI: home}
		}
		if rest, ok := strings.CutPrefix(path, "~"+string(p.Sep())); ok {
			return entry(home, rest)
		}
	}
	if p.IsAbs(path) || base == "" {
		return RootEntry{URI: path, Pattern: pattern.Tail(p, path, p.RootLen(path))}
	}
	return entry(base, path)
}

// readStrict reads a level on which every directory must be usable. A pattern without
// a match is only warned about, because it may match later.
func (c *chain) readStrict(origin Origin, setting string, paths []string, base string) (Fallback, []Skipped, error) {
	f := Fallback{Origin: origin}
	var bad []error
	var warnings []Skipped
	for _, path := range paths {
		if strings.TrimSpace(path) == "" {
			continue
		}
		entry := c.makeEntry(path, base)
		if origin == OriginProject {
			entry.Pattern = ""
		}
		some, err := c.usableRoots(entry)
		switch {
		case err == nil && origin == OriginProject && some[0].File:
			err = guard.ErrNoDir
		case err != nil && entry.Pattern != "" && pattern.Check(entry.Pattern) == nil:
			warnings = append(warnings, Skipped{Raw: path, Reason: err.Error()})
			err = nil
		}
		if err != nil {
			bad = append(bad, &SettingError{Setting: setting, Path: path, Err: err})
			continue
		}
		f.Entries = append(f.Entries, entry)
	}
	if len(bad) == 0 && len(f.Entries) == 0 {
		bad = append(bad, &SettingError{Setting: setting, Err: errors.New("it names no directory")})
	}
	if len(bad) > 0 {
		return Fallback{}, nil, errors.Join(bad...)
	}
	return f, warnings, nil
}

// readTolerant reads the level of hub.json, on which a bad entry is warned about.
func (c *chain) readTolerant(base string) (f Fallback, usable bool, warnings []Skipped) {
	if len(c.in.Config) == 0 {
		return Fallback{}, false, nil
	}
	f.Origin = OriginConfig
	for _, given := range c.in.Config {
		entry := RootEntry{URI: given.URI}
		if !platform.IsFileURI(given.URI) {
			entry = c.makeEntry(given.URI, base)
		}
		entry.Name = given.Name
		f.Entries = append(f.Entries, entry)
		if _, err := c.usableRoots(entry); err != nil {
			warnings = append(warnings, Skipped{Raw: given.URI, Name: entry.Name, Reason: err.Error()})
			continue
		}
		usable = true
	}
	return f, usable, warnings
}

// usableRoots returns the roots that an entry gives by itself, or why there are none.
func (c *chain) usableRoots(entry RootEntry) ([]guard.Root, error) {
	if c.in.FS == nil {
		return nil, errors.New("it cannot be read: there is no filesystem")
	}
	s := NewSnapshot(c.in.FS, 0, OriginConfig, []RootEntry{entry})
	if s.Len() == 0 {
		return nil, errors.New(s.skipped[0].Reason)
	}
	return s.roots, nil
}

// SettingError is a directory in a flag or a variable that cannot be a root.
type SettingError struct {
	Setting string // "--roots", "MCPHUB_ROOTS", "MCPHUB_PROJECT_ROOT"
	Path    string // as it was given; "" where none was
	Err     error
}

func (e *SettingError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %v; name directories that exist and can be read, or leave it out", e.Setting, e.Err)
	}
	return fmt.Sprintf("%s: %s cannot be a root: %v; name directories that exist and can be read",
		e.Setting, platform.Quote(e.Path), e.Err)
}

func (e *SettingError) Unwrap() error { return e.Err }

// Snapshot returns the Fallback as the filesystem is now. places are directories
// that servers may write in besides (see Settings.WritableDirs).
func (f Fallback) Snapshot(fsys guard.FS, generation uint64, places []string) *Snapshot {
	return f.snapshot(fsys, generation, blueprint{places: places})
}

// snapshot returns the Fallback as the filesystem is now.
func (f Fallback) snapshot(fsys guard.FS, generation uint64, bp blueprint) *Snapshot {
	if f.IsEmpty() {
		return bp.snapshot(fsys, generation, OriginNone)
	}
	bp.entries = f.Entries
	return bp.snapshot(fsys, generation, f.Origin)
}
