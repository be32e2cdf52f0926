package children

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mcphub/children/confinement"
	"mcphub/children/launch"
	"mcphub/children/removal"
	"mcphub/children/sandbox"
)

// planLaunch computes how the instance starts with what is wanted.
func (child *childInstance) planLaunch(w wantedState, m launch.Machine) (launch.Launch, error) {
	if w.boundary.Barred != "" {
		return launch.Launch{}, errors.New(w.boundary.Barred)
	}
	return child.spec.Plan(w.Roots, m.WithBoundary(w.boundary))
}

// tellOpens says once of an entry what its names open.
func (child *childInstance) tellOpens(l launch.Launch) {
	if l.Sandbox != nil && len(l.Sandbox.Opens) > 0 && child.machine.MarkAnnounced(child.spec.Program()) {
		child.log.Info().Strs("opens", l.Sandbox.Opens).Msg("this server may open what its entry names")
	}
}

// putOnRecord puts on record where the child may write beyond the roots of its sessions. If
// it fails, the child must not run.
func (child *childInstance) putOnRecord(l launch.Launch) error {
	if l.Sandbox == nil || l.Sandbox.Profile == nil || child.common.Writes == nil {
		return nil
	}
	var dirs []string
	for _, r := range l.Sandbox.Profile.Rules {
		if r.Access&sandbox.Write != 0 && r.Access&sandbox.Device == 0 && r.Path != l.Sandbox.Temp {
			dirs = append(dirs, r.Path)
		}
	}
	for _, f := range l.Sandbox.Profile.Files {
		dirs = append(dirs, f.Path())
	}
	return child.common.Writes(dirs)
}

// makePrivate makes the folders of a confined child's own: one for this run, which is
// removed when that is over, and one for what it keeps.
func (child *childInstance) makePrivate() (remove func()) {
	child.machine = child.machine.WithPrivate("", "")
	if !child.spec.Sandbox.Confines() || child.spec.URL != "" {
		return func() {}
	}
	temp, err := confinement.PrivateTemp()
	if err != nil {
		child.log.Warn().Err(err).Msg("a confined child has no temporary folder")
	}
	child.machine = child.machine.WithPrivate(temp, child.keptFolder())
	return func() {
		if temp == "" {
			return
		}
		child.removing.Go(func() { // there may be much in it, and the next start does not wait for that
			if err := removal.All(temp); err != nil {
				child.log.Warn().Err(err).Msg("the temporary folder of a confined child could not be removed")
			}
		})
	}
}

// keptFolder makes the folder in which a confined child keeps what is costly to make
// again. It belongs to the entry: another one of the same name has another; "" if
// there is none.
func (child *childInstance) keptFolder() string {
	base := child.common.machine.CacheFolder()
	if base == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(child.spec.Identity(), "\x00")))
	dir := filepath.Join(base, "children", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		child.log.Warn().Err(err).Msg("a confined child has no folder to keep things in")
		return ""
	}
	looks := child.currentWanted().looks.InBurst()
	if fi, err := os.Lstat(dir); looks != nil && err == nil && fi.IsDir() { // where its parent lies is looked up once for all
		if parent, err := looks.Real(filepath.Dir(dir)); err == nil {
			return filepath.Join(parent, filepath.Base(dir))
		}
	}
	return sandbox.RealPath(dir)
}

// tellClosed reports what names open no more to a child: once of all of which it is true.
func (child *childInstance) tellClosed(l launch.Launch) {
	if l.Sandbox == nil {
		return
	}
	for _, what := range l.Sandbox.Report.Closed {
		if child.common.warned.isFirst("closed\x00" + what) {
			child.log.Warn().Str("closed", what).Msg("something is closed to this server that it could have expected to be open")
		}
	}
}

// tellLacks reports what the kernel does not hold of a child that it should: once,
// whatever instances there are of it. If no one has asked for that, it is said once of
// all children of which it is true.
func (child *childInstance) tellLacks(l launch.Launch) {
	if l.Sandbox == nil || slices.Equal(child.history.toldLacks, l.Sandbox.Report.Lacks) {
		return
	}
	child.history.toldLacks = l.Sandbox.Report.Lacks
	switch {
	case len(child.history.toldLacks) == 0:
	case child.spec.Sandbox.Default && child.spec.Sandbox.Mode == sandbox.Auto:
		if child.common.warned.isFirst(strings.Join(child.history.toldLacks, "\x00")) {
			child.log.Info().Stringer("kernel", l.Sandbox.Report.State).Strs("lacks", child.history.toldLacks).Msg("the kernel does not hold all of the boundary of this server, and of others alike")
		}
	case child.common.warned.isFirst(child.key.Child + "\x00" + strings.Join(child.history.toldLacks, "\x00")):
		child.log.Warn().Stringer("kernel", l.Sandbox.Report.State).Strs("lacks", child.history.toldLacks).Msg("the kernel does not hold all of the boundary of this server")
	}
}

// seenTexts are texts that have been said. It may be used from any goroutine.
type seenTexts struct {
	mu   sync.Mutex
	seen map[string]bool
}

// maxTold bounds what is remembered, and so what is said at all.
const maxTold = 100

// isFirst reports whether text is to be said now, for the first time.
func (t *seenTexts) isFirst(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen[text] || len(t.seen) == maxTold {
		return false
	}
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	t.seen[text] = true
	return true
}

// compareRules reports that the kernel is to hold a run differently from how it does. What
// can be planned no more is not what runs. staysNarrower: the run stays, although it may
// open less than it should, because its entry says so.
func (child *childInstance) compareRules(barred bool, running *confinement.Confinement, next launch.Launch, err error) (rulesChanged, staysNarrower bool) {
	switch {
	case barred:
		return true, false
	case !child.spec.Sandbox.Confines():
		return false, false
	case err != nil:
		return true, false
	case running.Same(next.Sandbox):
		return false, false
	case next.Sandbox.KeepRunning && running.Profile != nil && next.Sandbox.Profile != nil && next.Sandbox.Profile.Covers(running.Profile):
		return false, true
	}
	return true, false
}
