package children

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/health"
	"mcphub/children/hints"
	"mcphub/children/launch"
	"mcphub/children/limits"
	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/packages"
	"mcphub/children/program"
	"mcphub/children/removal"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
	"mcphub/internal/worker"
	"mcphub/rootsmgr/guard"
)

const (
	// backOffWait is how long a call waits for a back-off to end before it fails.
	backOffWait = time.Second
	// drainWait bounds how long calls under way may go on when their run is
	// restarted.
	drainWait = 5 * time.Second
)

var (
	errShutdown = errors.New("the hub is stopping")
	errDropped  = errors.New("the session has ended")
)

// ErrReplaced is the error of an instance whose Spec has changed or is gone.
// The one who gets it looks the child up again.
var ErrReplaced = errors.New("the configuration has changed")

// common is what all children of a Supervisor share: the SupervisorOptions, but for the Specs, and
// what is made of them. Only memory changes once Run runs.
type common struct {
	SupervisorOptions
	machine     launch.Machine
	startSlots  limits.StartSlots
	memory      *offers.Memory
	definitions *offers.Definitions
	places      *limits.Places
	dropUnheld  func(*childInstance) bool // take out an instance that no one holds
	resume      func(*childInstance)      // start the goroutine of an instance that rests
	giveUp      func(*childInstance)      // take out an instance that ends by itself
	jitter      func() float64
	pace        health.Pace
	warned      seenTexts // what the kernel does not hold
	packages    *packages.Store
	background  func(f func(ctx context.Context)) // runs f until the Supervisor ends
}

// withSurroundings returns a Spec with the surroundings that it has: of one that names none the hub's.
func (shared *common) withSurroundings(s spec.Spec) spec.Spec {
	if s.Environ == nil {
		s.Environ, s.Dir = shared.Environ, shared.Dir
	}
	return s
}

// machineOf returns the machine in the surroundings of a Spec.
func (shared *common) machineOf(s spec.Spec) launch.Machine {
	return shared.machine.WithClientEnv(s.Environ, s.Dir)
}

// clientProfile returns whom an instance serves.
func (shared *common) clientProfile(k spec.Key) link.ClientProfile {
	if shared.ClientProfile == nil {
		return link.ClientProfile{}
	}
	return shared.ClientProfile(k)
}

// childInstance is one instance. runLife runs on one goroutine at a time, which owns history and
// offer. The rest is an immutable snapshot, a channel, or guarded by mu. While an
// instance only waits for others it rests and has no goroutine, because a hub may
// hold thousands of instances that no one calls.
type childInstance struct {
	key    spec.Key
	serial uint64
	spec   spec.Spec
	common *common
	log    zerolog.Logger

	wantedChanged chan struct{} // wanted has changed
	levelChanged  chan struct{} // the level of its log may have changed
	settled       chan struct{} // ready and listed, or failed its first start
	unheld        atomic.Bool   // every session that joined has left
	snapshot      atomic.Pointer[instanceSnapshot]
	endNow        context.CancelCauseFunc // ends life, and with it calls under way
	retire        context.CancelCauseFunc // ends accepting alone: calls under way may finish
	life          context.Context         // ends if the instance is to stop at once
	accepting     context.Context         // ends with life, or earlier if the instance is to take no new call
	machine       launch.Machine
	copyOf        atomic.Pointer[program.Installed] // what machine has of copied; for other goroutines

	mu      sync.Mutex
	wanted  wantedState
	resting bool // runLife has returned and is to be called again when there is news

	history    startHistory
	copied     *packages.Copy   // what this run is started from, instead of a launcher; nil: of nothing
	offer      *offers.RawOffer // what it offered last, be it in another instance
	manner     *offers.RawOffer // how it was spoken to last, be it in another instance; see offers.RawOffer.Manner
	settleOnce sync.Once

	removing sync.WaitGroup // what runs that are over have left behind
}

// startHistory is what an instance's goroutine remembers of its runs.
type startHistory struct {
	failures     health.History
	starts       int
	nextStart    time.Time // no start before
	wasAsked     bool      // someone has wanted it to run
	wasReady     bool
	lastFailure  string       // why the last start or run failed; "" once ready again
	badPlan      bool         // the last start failed before anything was started
	digest       string       // of what was started last, wherever it works
	sightsDigest string       // digest with what it can see; "": what it lists is not remembered
	offeredFor   string       // what the offer was listed, or recalled, for; as sightsDigest
	started      bool         // runLife was called before
	checkedGen   uint64       // of the roots, when it was last looked whether to start
	plannedGen   uint64       // of the roots, with which it was started last
	wasGreeted   bool         // it has been ready in this instance
	wasListed    bool         // and its tools have been listed
	lives        offers.Lives // of the offer, as it was read last
	recalled     bool         // it was looked up what is remembered, for these roots
	recalledFor  uint64
	offerIsGuess bool          // the offer is that for clients without capabilities, and these have some
	diedInEra    spec.Era      // it exited when it was first spoken to in this era, so the other is tried first; EraAuto: in none
	retriedEra   bool          // it was started again because of diedInEra, which happens once only
	toldLacks    []string      // what the kernel does not hold, as it was told last
	hintReader   *hints.Reader // of the run that was started last; nil: nothing holds it
	spokenEra    spec.Era      // in which it was spoken to when it was listed last for this Key; EraAuto: not known
}

// wantedState is what others ask of an instance.
type wantedState struct {
	servedroots.WantedRoots
	boundary sandbox.Boundary // of whom it serves; for one that is confined
	whose    string           // see sights

	assumed     bool // roots are in use until the first ones are known
	callerWaits bool // someone waits for it
	shouldRun   bool // it should run, unless it is to wait for a call
	evict       bool // another child waits for its place

	looks *sandbox.LstatCache // of those who are told with it, for a start that no call waits for; may be nil
}

// instanceSnapshot is what others see of an instance: immutable.
type instanceSnapshot struct {
	status  Status
	offer   *offers.RawOffer
	run     *run.Run // nil unless Ready
	served  []string
	gen     uint64                // of roots, that are applied
	failed  int                   // how many starts have failed
	err     *run.UnavailableError // why it is not ready; nil while it is or may become so
	final   bool                  // it will not come back
	changed chan struct{}         // closed when a newer snapshot is there
}

func newChild(k spec.Key, s spec.Spec, serial uint64, h *common, log zerolog.Logger) *childInstance {
	child := &childInstance{key: k, serial: serial, spec: s, common: h, wantedChanged: make(chan struct{}, 1), levelChanged: make(chan struct{}, 1), settled: make(chan struct{})}
	child.log = log.With().Str("child", k.Child).Logger()
	if k.Instance != "" {
		child.log = child.log.With().Str("instance", k.Instance).Logger()
	}
	child.life, child.endNow = context.WithCancelCause(context.Background())
	child.accepting, child.retire = context.WithCancelCause(child.life)
	child.snapshot.Store(&instanceSnapshot{status: Status{Key: k, Serial: serial, Since: time.Now(), Command: s.Command, Args: s.Args, Environ: s.Environ, Revision: s.Revision}, changed: make(chan struct{})})
	return child
}

// baseMachine returns the machine in the surroundings of the child.
func (child *childInstance) baseMachine() launch.Machine { return child.common.machineOf(child.spec) }

// updateWanted changes what is wanted, and wakes the owner if that is news.
func (child *childInstance) updateWanted(change func(w *wantedState) bool) {
	child.mu.Lock()
	isNews := change(&child.wanted)
	child.mu.Unlock()
	if isNews {
		child.wakeOwner()
	}
}

// wakeOwner has the owner look again at what is wanted, and whether its life goes on.
func (child *childInstance) wakeOwner() {
	worker.Signal(child.wantedChanged)
	child.mu.Lock()
	resting := child.resting
	child.resting = false
	child.mu.Unlock()
	if resting {
		child.common.resume(child)
	}
}

// restIfIdle is called by the owner when nothing is due. true: its goroutine is to end,
// and starts again when someone asks for something. false: someone has already.
func (child *childInstance) restIfIdle() bool {
	child.mu.Lock()
	defer child.mu.Unlock()
	select {
	case <-child.wantedChanged:
		return false
	default:
	}
	child.resting, child.wanted.looks = child.accepting.Err() == nil, nil // it does not start with the others
	return child.resting
}

// stopWith ends the instance, and with it its calls under way.
func (child *childInstance) stopWith(why error) {
	child.endNow(why)
	child.wakeOwner()
}

// retireWith lets the instance take no new call. It ends when its calls under way have ended.
func (child *childInstance) retireWith(why error) {
	child.retire(why)
	child.wakeOwner()
}

func (child *childInstance) currentWanted() wantedState {
	child.mu.Lock()
	defer child.mu.Unlock()
	return child.wanted
}

// setRoots remembers new roots; the owner applies them.
func (child *childInstance) setRoots(roots []guard.Root, b sandbox.Boundary, whose string, shouldRun bool) {
	roots = slices.Clone(roots)
	child.updateWanted(func(w *wantedState) bool {
		news := shouldRun && !w.shouldRun
		w.shouldRun = w.shouldRun || shouldRun
		if !w.Known || !servedroots.Same(w.Roots, roots) || child.heldTo(w.boundary, b) {
			w.Roots, w.boundary, w.whose, w.Known, news = roots, b, whose, true, true
			w.Gen++
		}
		return news
	})
}

// assumeRoots remembers roots that are used until the first ones are known.
func (child *childInstance) assumeRoots(roots []guard.Root, b sandbox.Boundary, whose string) {
	roots = slices.Clone(roots)
	child.updateWanted(func(w *wantedState) bool {
		news := !w.shouldRun || !w.assumed
		w.shouldRun, w.assumed = true, true
		if !w.Known && (!servedroots.Same(w.Roots, roots) || child.heldTo(w.boundary, b)) {
			w.Roots, w.boundary, w.whose, news = roots, b, whose, true
			w.Gen++
		}
		return news
	})
}

// heldTo reports whether another boundary makes a difference to the child.
func (child *childInstance) heldTo(was, now sandbox.Boundary) bool {
	return was.Barred != now.Barred || child.spec.Sandbox.Confines() && !was.Equal(now)
}

// shareLooks has the next start look at the disk once with others, if it comes soon and no call waits for it.
func (child *childInstance) shareLooks(looks *sandbox.LstatCache) {
	child.mu.Lock()
	defer child.mu.Unlock()
	child.wanted.looks = looks
}

func (child *childInstance) noteShouldRun() {
	child.updateWanted(func(w *wantedState) bool {
		news := !w.shouldRun
		w.shouldRun = true
		return news
	})
}

func (child *childInstance) noteCallerWaits() {
	child.updateWanted(func(w *wantedState) bool {
		news := !w.callerWaits
		w.callerWaits = true
		return news
	})
}

// maxMoves bounds how often one call has a child started again because files
// are replaced while it starts.
const maxMoves = 3

// acquireLease waits until the child is ready with the roots set last, as they are on the
// disk.
func (child *childInstance) acquireLease(ctx context.Context) (*Lease, error) {
	gen, retired := child.currentWanted().Gen, child.accepting.Done()
	first := child.snapshot.Load()
	var seen *run.Run // the run that the owner has looked at since, and kept although a path had moved
	moves := 0
	for v := first; ; {
		if v.run != nil && v.gen >= gen && v.run.Enter() {
			if v.run == seen || moves == maxMoves || !v.run.PathsReplaced() {
				return &Lease{run: v.run, snapshot: v}, nil
			}
			v.run.Leases.Leave()
			seen, gen = v.run, child.awaitMove(v.gen)
			moves++
		}
		if err := v.refusalReason(first); err != nil {
			return nil, err
		}
		if v.run == nil {
			child.noteCallerWaits()
		}
		select {
		case <-v.changed:
			v = child.snapshot.Load()
		case <-retired:
			if cause := context.Cause(child.accepting); errors.Is(cause, ErrReplaced) {
				return nil, &run.UnavailableError{Child: child.key.Child, Reason: cause.Error(), Err: cause}
			}
			retired = nil // its last snapshot will report how it ended
		case <-ctx.Done():
			return nil, child.notYet(ctx)
		}
	}
}

// awaitMove has the owner look again at the paths to which a run is held, if these roots are still the ones
// that were applied to it. It returns the generation to wait for.
func (child *childInstance) awaitMove(applied uint64) (gen uint64) {
	child.updateWanted(func(w *wantedState) bool {
		news := w.Gen == applied // else someone has told already
		if news {
			w.Gen++
		}
		gen = w.Gen
		return news
	})
	return gen
}

// refusalReason returns why a caller that came when the snapshot was first need not wait
// any longer, now that it is v; nil if it should.
func (v *instanceSnapshot) refusalReason(first *instanceSnapshot) error {
	switch {
	case v.final:
		return v.err
	case v.status.State != BackingOff || v.err == nil:
		return nil
	}
	wait := time.Until(v.status.NextStart)
	if v.failed == first.failed && wait <= backOffWait {
		return nil
	}
	e := *v.err
	e.RetryAfter = max(0, wait)
	return &e
}

// notYet returns the error of a call whose context ended while it waited.
func (child *childInstance) notYet(ctx context.Context) error {
	v := child.snapshot.Load()
	reason := "it is still " + v.status.State.String()
	if v.status.State == Ready {
		reason = "it has not yet applied the new roots"
	}
	if v.status.Err != "" {
		reason += ": " + v.status.Err
	}
	return child.unavailableError(reason, child.stderrTail(v), context.Cause(ctx))
}

func (child *childInstance) stderrTail(v *instanceSnapshot) string {
	if v.run != nil {
		return v.run.Facts().Stderr
	}
	return v.status.Stderr
}

// handleStderr hands on a line of stderr.
func (child *childInstance) handleStderr(pid int, line string) {
	if child.common.OnStderr != nil {
		child.common.OnStderr(child.key, pid, line)
	}
}

// listenToStderr has what the child writes to stderr handed on, and read for what the kernel has
// refused it.
func (child *childInstance) listenToStderr(l *launch.Launch, w wantedState) {
	l.OnStderr, child.history.hintReader = child.handleStderr, nil
	held := l.Sandbox
	if held == nil || held.Profile == nil {
		return
	}
	child.history.hintReader = &held.Words
	dirs := program.RootPaths(w.Roots)
	l.Refused = func(f sandbox.Refusal) {
		if child.common.Refused != nil {
			child.common.Refused(child.key, f, dirs)
		}
	}
	held.Words.Told = l.Refused
	l.OnStderr = func(pid int, line string) {
		child.handleStderr(pid, line)
		if f, _, first := held.Words.ReadStderr(line); first {
			l.Refused(f)
		}
	}
}

// currentStatus returns the current status of the snapshot, with those values read now that change unannounced.
func (child *childInstance) currentStatus() Status {
	v := child.snapshot.Load()
	st := v.status
	if st.State == Ready && st.Err == "" && v.offer != nil {
		st.Err = strings.Join(v.offer.Notes, "; ")
	}
	if v.run != nil {
		st.Served = v.served
		f := v.run.Facts()
		st.Stderr, st.Skipped, st.TextIDs, st.Muted, st.AskedRoots = f.Stderr, f.Skipped, f.TextIDs, v.run.Muted(), v.run.Roots.WasAsked()
		if held := v.run.Launch.Sandbox; held != nil {
			st.Sandbox.Refused, st.Sandbox.Last = held.Words.Refusals()
		}
	}
	return st
}

// publishSnapshot makes a new snapshot from the last one. A change of state or offer is
// reported.
func (child *childInstance) publishSnapshot(change func(v *instanceSnapshot)) {
	old := child.snapshot.Load()
	v := *old
	v.changed = make(chan struct{})
	change(&v)
	if v.status.State != old.status.State {
		v.status.Since = time.Now()
	}
	v.status.Failures, v.status.CircuitOpen = child.history.failures.Failures, child.history.failures.InCrashLoop()
	v.status.Restarts, v.status.Listed = max(0, child.history.starts-1), child.history.wasListed
	v.status.Lives = child.history.lives
	v.status.Sandbox.Refused, v.status.Sandbox.Last = child.history.hintReader.Refusals()
	v.offer = child.offer
	if v.status.Tools = 0; v.offer != nil {
		v.status.Tools = len(v.offer.Entries[offers.Tools])
	}
	v.status.Protocol, v.status.Unread = "", false
	if child.history.wasGreeted && v.offer != nil {
		v.status.Protocol, v.status.Unread = v.offer.Protocol, v.offer.IsUnread(offers.Tools)
	}
	child.snapshot.Store(&v)
	close(old.changed)
	if v.status.State != old.status.State || v.status.Final || v.status.Renewed != old.status.Renewed || v.status.Lives != old.status.Lives || v.status.Package != old.status.Package || v.offer != old.offer {
		child.log.Debug().Stringer("state", v.status.State).Int("pid", v.status.PID).Msg("child")
		if child.common.Changed != nil {
			child.common.Changed(v.status, v.offer)
		}
	}
}

func (child *childInstance) setState(s State, why string) {
	child.publishSnapshot(func(v *instanceSnapshot) {
		v.status.State, v.status.Err = s, why
		v.run = nil
		if s != BackingOff {
			v.err = nil
			v.status.NextStart = time.Time{}
		}
		if s != Starting && s != Draining {
			v.status.PID = 0
		}
	})
}

// runLife lives the life of the instance until its context ends, or until it
// rests: then ended is false, and runLife is called again when there is news.
func (child *childInstance) runLife() (ended bool) {
	if !child.history.started {
		child.history.started = true
		child.recallManner()
		child.machine = child.baseMachine().WithShelter(child.spec.Program(), child.log)
	}
	for {
		switch child.awaitStart() {
		case toRest: // its next life may have begun already, and waits for what is being removed at its end
			return false
		case toEnd:
			child.removing.Wait()
			child.publishEnd()
			return true
		}
		child.runOnce()
	}
}

// runOnce is one run, from its start until nothing is left of it.
func (child *childInstance) runOnce() {
	defer child.common.places.Leave(child)
	defer child.makePrivate()()
	defer child.makeFolder()()
	defer child.releaseCopy()
	r, err := child.startRun()
	switch {
	case child.accepting.Err() != nil:
		if r != nil {
			child.endRun(r, context.Cause(child.accepting).Error())
		}
	case err != nil && errors.Is(err, limits.ErrBusy):
		child.reportNoPlace(err)
	case err != nil:
		child.backOff(err, nil)
	case child.common.servingKey(child.spec, child.key) != child.key:
		child.endForOtherEra(r)
	default:
		child.history.wasReady, child.history.lastFailure = true, ""
		child.scheduleRenewal()
		child.serveRun(r)
	}
}

// ownFolder begins the names of the folders that makeFolder makes.
const ownFolder = "mcphub-shared"

// makeFolder makes the empty folder in which a shared child starts if it is served
// no roots, because it must not work in the project of one of its sessions. It lies in
// the temporary folder of its own, which is open to a confined child. It is removed when
// the run is over.
func (child *childInstance) makeFolder() (remove func()) {
	child.machine = child.machine.WithOwn("")
	if child.spec.Share == spec.ShareSession || child.spec.Cwd != "" && !program.NamesRoots(child.spec.Cwd) || child.spec.URL != "" {
		return func() {}
	}
	dir, err := os.MkdirTemp(child.machine.Temp(), ownFolder+"-*") // mode 0700
	if err != nil {
		child.log.Warn().Err(err).Msg("no empty folder for a shared child")
		return func() {}
	}
	child.machine = child.machine.WithOwn(sandbox.RealPath(dir))
	return func() {
		if err := removal.All(dir); err != nil {
			child.log.Warn().Err(err).Msg("the folder of a shared child could not be removed")
		}
	}
}

// unavailableError returns why the child cannot be called.
func (child *childInstance) unavailableError(reason, stderr string, cause error) *run.UnavailableError {
	return run.NewUnavailable(child.spec, reason, stderr, cause)
}

// publishEnd publishes the last snapshot.
func (child *childInstance) publishEnd() {
	reason := errShutdown
	if cause := context.Cause(child.accepting); cause != nil {
		reason = cause
	}
	child.publishSnapshot(func(v *instanceSnapshot) {
		v.status.State, v.status.Err, v.status.PID, v.status.Final = Stopped, reason.Error(), 0, true
		v.status.OtherEra = errors.Is(reason, errOtherEra)
		v.run, v.final = nil, true
		v.err = &run.UnavailableError{Child: child.key.Child, Reason: reason.Error(), Err: reason}
	})
	child.settleOnce.Do(func() { close(child.settled) })
}

// startsByItself reports whether the child is started again without a call: one that was
// asked for and has never been ready yet, unless it fails again and again.
func (child *childInstance) startsByItself() bool {
	return !child.startsLazily() && child.history.wasAsked && !child.history.wasReady && !child.history.failures.InCrashLoop()
}

// nextStep is what the life of an instance goes on with.
type nextStep int

const (
	toStart nextStep = iota
	toRest           // nothing is due until someone asks for something
	toEnd
)

// awaitStart waits while a start is due that has to wait for its time.
func (child *childInstance) awaitStart() nextStep {
	for {
		w := child.currentWanted()
		if child.history.badPlan && w.Gen != child.history.checkedGen {
			child.history.nextStart = time.Time{} // other roots may be what was missing
			w.callerWaits = true
			child.noteCallerWaits()
		}
		child.history.checkedGen = w.Gen
		child.publishRecalled(w)
		lacksRoots := !w.Known && !w.assumed && child.spec.NeedsRoots()
		child.history.wasAsked = child.history.wasAsked || w.callerWaits || w.shouldRun
		isWanted := w.callerWaits || !child.startsLazily() && w.shouldRun || child.startsByItself()
		wait := time.Until(child.history.nextStart)
		switch {
		case child.accepting.Err() != nil, child.unheld.Load() && child.common.dropUnheld(child):
			return toEnd
		case lacksRoots && (isWanted || child.offer == nil && !child.startsLazily()):
			if child.snapshot.Load().status.State != Waiting {
				child.setState(Waiting, "waits for the client's roots")
			}
		case isWanted && wait <= 0:
			return toStart
		case isWanted:
			child.pauseUntilWanted(wait)
			continue
		}
		if child.restIfIdle() {
			return toRest
		}
	}
}

// pauseUntilWanted waits until someone asks for something, most at most.
func (child *childInstance) pauseUntilWanted(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-child.accepting.Done():
	case <-timer.C:
	case <-child.wantedChanged:
	}
}
