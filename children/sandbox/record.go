package sandbox

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A Use is something that a recorded process did and its Profile does not allow.
type Use struct {
	Path   string // without links
	Access Access // that it takes
	Made   bool   // it was made there; what it takes is the right to
	Folder bool   // it was made as a folder
}

// A Socket is a unix socket that a recorded process used.
type Socket struct {
	Path  string // with @ in front if it is no file
	Bound bool   // by the process itself
}

// A Recorder notes what processes use that their Profile does not allow. Nothing is
// decided by what it notes: the kernel goes on with each call, and holds the process to its
// Profile unless Free is set. A process can have it note another path than it opens, by
// changing the name while it is read; a person decides what becomes of the notes. The zero
// Recorder has noted nothing.
//
// Its methods may be called from any goroutine.
type Recorder struct {
	// Free confines nothing: the process has what it uses. It is set before the first run.
	Free bool

	mu      sync.Mutex // guards the rest
	uses    map[string]Use
	sockets map[Socket]bool
	ports   map[uint16]bool
	last    time.Time
	refused error
	profile *Profile // of the last run
}

// Uses returns what was noted, by path.
func (r *Recorder) Uses() []Use {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.uses), func(a, b Use) int { return cmp.Compare(a.Path, b.Path) })
}

// Sockets returns the unix sockets that were noted, by path.
func (r *Recorder) Sockets() []Socket {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Keys(r.sockets), func(a, b Socket) int {
		if a.Path == b.Path && a != b && a.Bound {
			return -1
		}
		return cmp.Compare(a.Path, b.Path)
	})
}

// Ports returns the ports that something was connected to, sorted.
func (r *Recorder) Ports() []uint16 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.ports))
}

// Last returns the time when something was noted last; zero before that.
func (r *Recorder) Last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// WaitQuiet returns when nothing has been noted for a while, or after a few seconds, and not before
// this much time has passed.
func (r *Recorder) WaitQuiet(ctx context.Context, least time.Duration) {
	tick := time.NewTicker(quiet / 3)
	defer tick.Stop()
	for start := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			ran := now.Sub(start)
			if ran >= max(least, quiet) && (now.Sub(r.Last()) >= quiet || ran >= max(least, quietMost)) {
				return
			}
		}
	}
}

// How long a run is waited for until it opens nothing more.
const (
	quiet     = 300 * time.Millisecond
	quietMost = 3 * time.Second
)

// Refused returns why the system records nothing, nil if it does, or was not asked yet.
func (r *Recorder) Refused() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// Add remembers a use.
func (r *Recorder) Add(u Use) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.uses == nil {
		r.uses = map[string]Use{}
	}
	was := r.uses[u.Path]
	u.Access |= was.Access
	u.Made, u.Folder = u.Made || was.Made, u.Folder || was.Folder
	if u != was {
		r.uses[u.Path], r.last = u, time.Now()
	}
}

func (r *Recorder) addSocket(s Socket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sockets == nil {
		r.sockets = map[Socket]bool{}
	}
	r.sockets[s] = true
}

func (r *Recorder) addPort(p uint16) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ports == nil {
		r.ports = map[uint16]bool{}
	}
	r.ports[p] = true
}

func (r *Recorder) refuseRecording(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = err
	return err
}

// noteBeyond remembers a use of what is at a path, unless p allows it.
func (r *Recorder) noteBeyond(p *Profile, u Use) {
	if u.Access&^p.AccessAt(u.Path) != 0 && filepath.IsAbs(u.Path) {
		r.Add(u)
	}
}

// Profile returns the profile of the run which was recorded last; nil before the first.
func (r *Recorder) Profile() *Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.profile
}

func (r *Recorder) beginRun(p *Profile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.profile = p
}
