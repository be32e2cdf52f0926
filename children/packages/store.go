package packages

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/rs/zerolog"

	"mcphub/children/confinement"
	"mcphub/children/launch"
	"mcphub/children/process"
	"mcphub/children/program"
	"mcphub/children/removal"
	"mcphub/children/sandbox"
	"mcphub/internal/atomicfile"
	"mcphub/internal/commandline"
	"mcphub/rootsmgr/guard"
)

const (
	// lookEvery is the least time between two looks for a newer version, unless asked for.
	lookEvery = 24 * time.Hour
	// installTime bounds one install.
	installTime = 15 * time.Minute
	stopTime    = 2 * time.Second
	lockPause   = 100 * time.Millisecond
	maxSaid     = 600 // bytes of what a manager wrote, in an error
)

// A Store keeps the copies of all entries.
type Store struct {
	dir string
	now func() time.Time
}

// NewStore returns the Store in a folder, which is made when needed; "" can keep nothing.
func NewStore(dir string) *Store { return &Store{dir, time.Now} }

// A Request describes what is to be installed, and for whom.
type Request struct {
	Name    string // of the entry
	Program program.Program
	Package commandline.Package
	Machine launch.Machine
	Roots   []guard.Root     // none of them is opened; programs in them are not run
	Within  sandbox.Boundary // of which only what is withheld counts
	Log     zerolog.Logger

	Tell   func(what string)                          // learns what is waited for; nil: no one is
	Said   func(pid int, line string)                 // is given what the manager writes to stderr; nil: no one is
	Values func(launch.Launch) (launch.Launch, error) // puts in the values of secrets; nil: there are none
}

// How a Copy came to be, for the one who asked for it.
const (
	Current   = "current"   // it was there
	Fresh     = "installed" // there was none
	Refreshed = "updated"   // it has another version than the one before
)

// A Copy is an installed package. Release lets it go.
type Copy struct {
	program.Installed
	Package string
	Version string
	At      time.Time // of its install
	Change  string
	Problem string // why it was not looked for a newer version, when that was last tried; "" if nothing failed

	held *flock.Flock
}

// Release lets the copy be removed. It may be called once, and of a nil Copy.
func (c *Copy) Release() {
	if c != nil {
		_ = c.held.Unlock()
	}
}

// record describes a copy, on disk.
type record struct {
	found
	Copy string    `json:"copy"` // its folder
	At   time.Time `json:"installed"`
}

// lastLook describes the last look for a newer version, on disk.
type lastLook struct {
	At      time.Time `json:"at"`
	Problem string    `json:"problem,omitempty"`
}

// place is the folder of one entry.
type place string

func (p place) currentFile() string         { return filepath.Join(string(p), "current") }
func (p place) lookedFile() string          { return filepath.Join(string(p), "looked") }
func (p place) cacheFolder() string         { return filepath.Join(string(p), "cache") }
func (p place) copiesFolder() string        { return filepath.Join(string(p), "copies") }
func (p place) copyFolder(id string) string { return filepath.Join(p.copiesFolder(), id) }
func (p place) heldFile(id string) string   { return p.copyFolder(id) + ".lock" }
func (p place) lockFile() *flock.Flock      { return lockAt(filepath.Join(string(p), "lock")) }
func lockAt(path string) *flock.Flock       { return flock.New(path, flock.SetPermissions(0o600)) }

// makePlace makes the folder of an entry. Another package, or another setting of its
// manager, has another.
func (s *Store) makePlace(r *Request) (place, error) {
	if s.dir == "" {
		return "", errors.New("there is no folder to install in: set XDG_CACHE_HOME or HOME")
	}
	d := sha256.New()
	put := func(words ...string) {
		d.Write(binary.AppendUvarint(nil, uint64(len(words))))
		for _, w := range words {
			d.Write(append(binary.AppendUvarint(nil, uint64(len(w))), w...))
		}
	}
	p := &r.Package
	put(r.Name, p.Manager, p.Command, p.Program, fmt.Sprint(p.Bun))
	put(p.Specs...)
	put(p.Extras...)
	put(p.Flags...)
	for _, set := range []map[string]string{r.Program.Env, p.Env} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if launch.IsManagerVariable(name) {
				put(name, set[name])
			}
		}
	}
	at := place(filepath.Join(s.dir, hex.EncodeToString(d.Sum(nil)[:8])))
	if err := os.MkdirAll(at.copiesFolder(), 0o700); err != nil {
		return "", err
	}
	return place(sandbox.RealPath(string(at))), nil
}

// Open gives the copy that runs, and installs one if there is none.
func (s *Store) Open(ctx context.Context, r *Request) (*Copy, error) {
	at, err := s.makePlace(r)
	if err != nil {
		return nil, err
	}
	if c := openCurrent(at); c != nil {
		return c, nil
	}
	unlock, err := s.lockEntry(ctx, at, r)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if c := openCurrent(at); c != nil {
		return c, nil // another has installed it meanwhile
	}
	return s.installFirst(ctx, at, r)
}

// Renew looks for a newer version of what is not pinned, and gives the copy that runs
// from now on. If that fails, and there is a copy, it is that one, with the reason.
func (s *Store) Renew(ctx context.Context, r *Request) (*Copy, error) {
	at, err := s.makePlace(r)
	if err != nil {
		return nil, err
	}
	unlock, err := s.lockEntry(ctx, at, r)
	if err != nil {
		return nil, err
	}
	defer unlock()
	was := openCurrent(at)
	switch {
	case was == nil:
		return s.installFirst(ctx, at, r)
	case r.Package.IsPinned():
		return was, nil
	}
	return s.replaceCopy(ctx, at, r, was)
}

// IsDue reports whether it is time to look for a newer version in the background.
func (s *Store) IsDue(r *Request) bool {
	at, err := s.makePlace(r)
	return err == nil && !r.Package.IsPinned() && s.now().Sub(at.lastLook().At).Abs() >= lookEvery
}

// RenewInBackground works like Renew, but only if that is due and no one else is at it.
func (s *Store) RenewInBackground(ctx context.Context, r *Request) (c *Copy, err error) {
	at, err := s.makePlace(r)
	if err != nil || !s.IsDue(r) {
		return nil, err
	}
	l := at.lockFile()
	if ok, err := l.TryLock(); err != nil || !ok {
		return nil, err
	}
	defer l.Unlock()
	was := openCurrent(at)
	if was == nil || !s.IsDue(r) {
		was.Release()
		return nil, nil
	}
	return s.replaceCopy(ctx, at, r, was)
}

// lockEntry waits until no one else installs for the entry.
func (s *Store) lockEntry(ctx context.Context, at place, r *Request) (unlock func(), err error) {
	l := at.lockFile()
	ok, err := l.TryLock()
	if err == nil && !ok {
		r.tellProgress("another hub installs " + r.packageNames())
		ok, err = l.TryLockContext(ctx, lockPause)
	}
	if err != nil || !ok {
		return nil, fmt.Errorf("%s could not be installed: another hub installs into %s: %w; %s waits for it", r.packageNames(), at, err, r.commandLine("warm"))
	}
	return func() { _ = l.Unlock() }, nil
}

// openCurrent gives the copy that is named; nil if there is none that can run.
func openCurrent(at place) *Copy {
	for range 3 {
		var rec record
		if readJSON(at.currentFile(), &rec) != nil || rec.Copy == "" || filepath.Base(rec.Copy) != rec.Copy {
			return nil
		}
		c := &Copy{Installed: rec.installedCopy(at), Package: rec.Package, Version: rec.Version, At: rec.At, Change: Current, Problem: at.lastLook().Problem, held: lockAt(at.heldFile(rec.Copy))}
		if c.held.RLock() != nil {
			return nil
		}
		var now record // it may have been removed before it was held
		if rec.checkInside(c.Dir) == nil && readJSON(at.currentFile(), &now) == nil && now.Copy == rec.Copy {
			return c
		}
		c.Release()
	}
	return nil
}

func (rec *record) installedCopy(at place) program.Installed {
	dir := at.copyFolder(rec.Copy)
	in := program.Installed{Dir: dir, Command: filepath.Join(dir, rec.Command), Version: rec.Version, Beside: rec.Beside}
	if rec.Runtime != "" {
		in.Command, in.Args, in.Neutral = rec.Runtime, []string{in.Command}, true
	}
	return in
}

// installFirst makes the first copy, under lock.
func (s *Store) installFirst(ctx context.Context, at place, r *Request) (*Copy, error) {
	r.tellProgress("installing " + r.packageNames())
	since := s.now()
	rec, err := s.fillFolder(ctx, at, r)
	if err != nil {
		return nil, err
	}
	r.Log.Info().Str("package", rec.Package).Str("version", rec.Version).Dur("took", s.now().Sub(since)).Msg("installed")
	return s.takeCopy(at, r, rec, Fresh)
}

// replaceCopy replaces a copy if there is a newer version, under lock.
func (s *Store) replaceCopy(ctx context.Context, at place, r *Request, was *Copy) (*Copy, error) {
	r.tellProgress("looking for a newer version of " + r.packageNames())
	at.noteLook(lastLook{At: s.now(), Problem: was.Problem}) // whatever becomes of it
	rec, err := s.fillFolder(ctx, at, r)
	switch {
	case ctx.Err() != nil:
		was.Release()
		return nil, context.Cause(ctx)
	case err != nil:
		was.Problem = err.Error()
		at.noteLook(lastLook{At: s.now(), Problem: was.Problem})
		r.Log.Warn().Str("reason", was.Problem).Str("version", was.Version).Msg("it could not be looked for a newer version; the copy that is installed runs")
		return was, nil
	case rec.Version == was.Version && rec.Package == was.Package && rec.Version != "":
		was.Problem = ""
		at.noteLook(lastLook{At: s.now()})
		at.sweepCopies(filepath.Base(was.Dir))
		return was, nil
	}
	was.Release()
	r.Log.Info().Str("package", rec.Package).Str("version", rec.Version).Str("before", was.Version).Msg("installed a newer version")
	return s.takeCopy(at, r, rec, Refreshed)
}

// takeCopy makes a copy the one that runs.
func (s *Store) takeCopy(at place, r *Request, rec *record, change string) (*Copy, error) {
	if err := writeJSON(at.currentFile(), rec); err != nil {
		return nil, err
	}
	at.noteLook(lastLook{At: s.now()})
	c := openCurrent(at)
	if c == nil {
		return nil, fmt.Errorf("%s was installed in %s, and cannot be opened there", r.packageNames(), at)
	}
	c.Change = change
	at.sweepCopies(rec.Copy)
	return c, nil
}

// fillFolder installs into a new folder. If that fails none of it is left.
func (s *Store) fillFolder(ctx context.Context, at place, r *Request) (rec *record, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, installTime, fmt.Errorf("it took longer than %s", installTime))
	defer cancel()
	rec = &record{Copy: strings.ToLower(rand.Text()), At: s.now().UTC().Truncate(time.Second)}
	dir := at.copyFolder(rec.Copy)
	defer func() {
		if err != nil {
			_ = removal.All(dir)
		}
	}()
	temp, err := confinement.PrivateTemp()
	if err != nil {
		return nil, err
	}
	defer removal.All(temp)
	m := managers[r.Package.Manager]
	if err := errors.Join(os.Mkdir(dir, 0o700), os.MkdirAll(filepath.Join(at.cacheFolder(), "run"), 0o700)); err != nil {
		return nil, err
	}
	for name, text := range m.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	in := m.planInstall(&r.Package, r.Program, r.Machine.Home(), dir, at.cacheFolder())
	in.Temp, in.Within = temp, r.Within
	l, err := launch.PlanInstall(r.Program, &r.Package, in, r.Roots, r.Machine)
	if err == nil && r.Values != nil {
		l, err = r.Values(l)
	}
	if err != nil {
		return nil, r.installError("", err)
	}
	l.OnStderr = r.Said
	said, err := process.Run(ctx, l, stopTime, r.Log.Level(zerolog.ErrorLevel))
	if err != nil {
		return nil, r.installError(said, err)
	}
	if rec.found, err = findProgram(dir, &r.Package, r.Machine); err != nil {
		return nil, r.installError("", err)
	}
	return rec, nil
}

// sweepCopies removes the copies that no one runs, but for one.
func (p place) sweepCopies(keep string) {
	names, err := os.ReadDir(p.copiesFolder())
	if err != nil {
		return
	}
	for _, e := range names {
		id := strings.TrimSuffix(e.Name(), ".lock")
		if id == keep {
			continue
		}
		l := lockAt(p.heldFile(id))
		if ok, err := l.TryLock(); err == nil && ok {
			_ = removal.All(p.copyFolder(id))
			_ = os.Remove(p.heldFile(id))
			_ = l.Unlock()
		}
	}
}

func (p place) lastLook() (l lastLook) {
	if readJSON(p.lookedFile(), &l) != nil {
		return lastLook{}
	}
	return l
}

func (p place) noteLook(l lastLook) { _ = writeJSON(p.lookedFile(), l) }

// writeJSON writes a file as a whole.
func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(text, '\n'), 0o600)
}

func (r *Request) tellProgress(what string) {
	if r.Tell != nil {
		r.Tell(what)
	}
	r.Log.Info().Msg(what)
}

// packageNames names the packages.
func (r *Request) packageNames() string { return strings.Join(r.Package.Specs, ", ") }
