package rootsmgr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Page is one answer of a client. Skipped holds what was in the list but was no
// entry at all: not an object, or without a uri that is a string.
type Page struct {
	Entries    []Entry
	Skipped    []Skipped
	NextCursor string // "" on the last page
}

// A Source wraps these, so that a Manager knows what an error means.
var (
	// ErrBadCursor: the client no longer knows the cursor (-32602 on one).
	ErrBadCursor = errors.New("the client rejected the cursor")
	// ErrMalformed: the answer is no list of roots.
	ErrMalformed = errors.New("the client's answer is no list of roots")
)

// Source asks one client for its roots. ListRoots sends one question and
// returns one page of the answer; it must return soon after ctx has ended, and
// an answer that comes later is the Source's to drop. A Manager never calls it
// twice at once.
type Source interface {
	ListRoots(ctx context.Context, cursor string) (Page, error)
}

// readier is a Source that cannot always send: over HTTP a question needs an
// open stream. Ready returns once it can. The time allowed for an answer starts
// then, and what has changed before then is part of the answer.
type readier interface {
	Ready(ctx context.Context) error
}

// Fallback is what an operator configured for clients that cannot give roots
// (R10). The zero value is none.
type Fallback struct {
	Origin  Origin
	Entries []Entry // absolute paths
}

// None reports whether nothing was configured.
func (f Fallback) None() bool { return f.Origin == OriginNone || len(f.Entries) == 0 }

// Names of the environment variables of R10.
const (
	EnvRoots       = "MCPHUB_ROOTS"
	EnvProjectRoot = "MCPHUB_PROJECT_ROOT"
)

// FallbackInput is all that the fallback chain depends on.
type FallbackInput struct {
	Flag      []string                    // --roots, split at commas; nil where it was not given
	Env       func(string) (string, bool) // os.LookupEnv; nil for none
	Config    []Entry                     // roots.fallback of hub.json: path (or file URI) and name
	ConfigDir string                      // the folder of hub.json, "" where there is none
	WorkDir   string                      // absolute
	FS        FS
}

// BuildFallback chooses the first level of R10 that gives roots: --roots,
// MCPHUB_ROOTS, roots.fallback, MCPHUB_PROJECT_ROOT. Relative paths start from
// MCPHUB_PROJECT_ROOT, else from the folder of hub.json, else from the working
// directory; those of the flag always from the working directory, as a shell
// user means them. "~" and "~/x" are the home folder.
//
// The flag and the environment fail fast: every directory named there must
// exist and be readable, or the error names each that is not. An entry of
// hub.json that is not usable is returned as a warning; it stays in the
// Fallback, whose Snapshot reports it, as long as another is usable. Where none
// is, the next level is tried, and where there is no next level the Fallback
// keeps the unusable entries, so that the case is "failed" and never "no
// fallback was configured".
func BuildFallback(in FallbackInput) (Fallback, []Skipped, error) {
	c := chain{in: in, eyes: newEyes(in.FS)}
	project, hasProject := c.env(EnvProjectRoot)
	if hasProject {
		project = c.absolute(project, in.WorkDir)
	}
	base := cmp.Or(project, in.ConfigDir, in.WorkDir)

	if in.Flag != nil {
		f, err := c.strict(OriginFlag, "--roots", in.Flag, in.WorkDir)
		return f, nil, err
	}
	if list, ok := c.env(EnvRoots); ok {
		f, err := c.strict(OriginEnvironment, EnvRoots, strings.Split(list, c.eyes.platform.listSep()), base)
		return f, nil, err
	}
	config, usable, warnings := c.lenient(base)
	if usable {
		return config, warnings, nil
	}
	if hasProject {
		f, err := c.strict(OriginProject, EnvProjectRoot, []string{project}, in.WorkDir)
		return f, warnings, err
	}
	return config, warnings, nil
}

// chain evaluates one FallbackInput.
type chain struct {
	in   FallbackInput
	eyes eyes
}

// env is a variable that is set to something. One of blanks is: what was meant
// to be a boundary must not be taken for none.
func (c *chain) env(name string) (string, bool) {
	if c.in.Env == nil {
		return "", false
	}
	v, _ := c.in.Env(name)
	return v, v != ""
}

// absolute expands "~" and puts a relative path below base.
func (c *chain) absolute(path, base string) string {
	p := c.eyes.platform
	path = p.slashed(p.fromMSYS(path))
	if home := homeOf(c.in.FS); home != "" {
		if path == "~" {
			return home
		}
		if rest, ok := strings.CutPrefix(path, "~"+string(p.sep())); ok {
			return p.Join(home, rest)
		}
	}
	if p.IsAbs(path) || base == "" {
		return path
	}
	return p.Join(base, path)
}

// strict is a level on which every directory must be usable.
func (c *chain) strict(origin Origin, setting string, paths []string, base string) (Fallback, error) {
	f := Fallback{Origin: origin}
	var bad []error
	for _, path := range paths {
		if strings.TrimSpace(path) == "" {
			continue
		}
		abs := c.absolute(path, base)
		if err := c.usable(abs); err != nil {
			bad = append(bad, &SettingError{Setting: setting, Path: path, Err: err})
			continue
		}
		f.Entries = append(f.Entries, Entry{URI: abs})
	}
	if len(bad) == 0 && len(f.Entries) == 0 {
		bad = append(bad, &SettingError{Setting: setting, Err: errors.New("it names no directory")})
	}
	if len(bad) > 0 {
		return Fallback{}, errors.Join(bad...)
	}
	return f, nil
}

// lenient is the level of hub.json, on which a bad entry is warned about.
func (c *chain) lenient(base string) (f Fallback, usable bool, warnings []Skipped) {
	if len(c.in.Config) == 0 {
		return Fallback{}, false, nil
	}
	f.Origin = OriginConfig
	for _, entry := range c.in.Config {
		path := entry.URI
		if !IsFileURI(path) {
			path = c.absolute(path, base)
		}
		f.Entries = append(f.Entries, Entry{URI: path, Name: entry.Name})
		if err := c.usable(path); err != nil {
			warnings = append(warnings, Skipped{Raw: entry.URI, Name: entry.Name, Reason: err.Error()})
			continue
		}
		usable = true
	}
	return f, usable, warnings
}

func (c *chain) usable(path string) error {
	if IsFileURI(path) {
		local, err := c.eyes.platform.ParseRootURI(path)
		if err != nil {
			return err
		}
		path = local
	}
	if c.in.FS == nil {
		return errors.New("it cannot be read: there is no filesystem")
	}
	_, _, err := c.eyes.canonical(path)
	return err
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
		e.Setting, quote(e.Path), e.Err)
}

func (e *SettingError) Unwrap() error { return e.Err }

// snapshot is the Fallback as the filesystem is now, under a ceiling; nil is none.
func (f Fallback) snapshot(fsys FS, generation uint64, top *Snapshot, skipped []Skipped) *Snapshot {
	if f.None() {
		return newSnapshot(fsys, generation, OriginNone, nil, top, skipped)
	}
	return newSnapshot(fsys, generation, f.Origin, f.Entries, top, slices.Clone(skipped))
}
