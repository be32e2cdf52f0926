package children

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/health"
	"mcphub/children/launch"
	"mcphub/children/limits"
	"mcphub/children/offers"
	"mcphub/children/packages"
	"mcphub/children/program"
	"mcphub/children/run"
	"mcphub/children/sandbox"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
	"mcphub/internal/worker"
	"mcphub/rootsmgr/guard"
)

// A Supervisor keeps child servers running and hands out the right to call
// them. Its methods may be called from any goroutine, before Run as well; what
// they ask for happens once Run runs.
type Supervisor struct {
	common common
	log    zerolog.Logger
	fresh  chan struct{}  // there are children whose life has not started
	lives  sync.WaitGroup // of children, the ones that rest included, and of what they have going
	life   context.Context
	end    context.CancelCauseFunc // of life

	mu        sync.Mutex
	specs     map[spec.Entry]spec.Spec
	looked    InspectedPaths // of specs
	children  map[spec.Key]*childInstance
	retired   map[*childInstance]struct{} // out of children, and not yet ended
	bySession map[string][]*childInstance // those whose life has not ended, by Key.Instance
	held      map[spec.Key]int            // how many sessions joined
	serial    uint64                      // of the newest instance
	unstarted []*childInstance
	closed    bool
}

// NewSupervisor returns a Supervisor. It starts nothing.
func NewSupervisor(options SupervisorOptions) *Supervisor {
	s := &Supervisor{
		log: options.Log, fresh: make(chan struct{}, 1), children: map[spec.Key]*childInstance{}, retired: map[*childInstance]struct{}{}, bySession: map[string][]*childInstance{}, held: map[spec.Key]int{},
		common: common{SupervisorOptions: options, machine: launch.NewMachine(options.Environ, options.Home, options.Dir), jitter: rand.Float64, pace: health.UsualPace},
	}
	s.common.Specs = nil // Apply replaces them
	if s.common.Launcher == nil {
		s.common.Launcher = ByURL{}
	}
	s.common.memory, s.common.forms = offers.NewMemory(options.Cache, options.Log), offers.NewDefinitions(options.Cache, options.Log)
	s.common.startSlots = limits.NewStartSlots(options.MaxStarting)
	s.common.places, s.common.dropUnheld, s.common.giveUp = limits.NewPlaces(options.MaxChildren, options.MaxEach), s.dropUnheld, s.giveUp
	s.common.resume = func(c *childInstance) { go s.liveChild(c) }
	s.common.packages = packages.NewStore(packagesFolder(s.common.machine))
	s.life, s.end = context.WithCancelCause(context.Background())
	s.common.background = func(f func(ctx context.Context)) { s.lives.Go(func() { f(s.life) }) }
	s.specs = byEntry(options.Specs)
	return s
}

// Run keeps the children until ctx ends, then stops them, all at once. It
// returns when none of them is left.
func (s *Supervisor) Run(ctx context.Context) error {
	s.mu.Lock()
	specs := slices.Collect(maps.Values(s.specs))
	s.mu.Unlock()
	seen := s.Inspect(specs)
	s.mu.Lock()
	s.setSpecsLocked(slices.Collect(maps.Values(s.specs)), []InspectedPaths{seen}) // a reload may have come before
	s.mu.Unlock()
	for {
		for _, c := range s.takeUnstarted() {
			s.lives.Add(1)
			go s.liveChild(c)
		}
		select {
		case <-s.fresh:
		case <-ctx.Done():
			s.end(errShutdown)
			for _, c := range s.closeToChildren() {
				c.stopWith(errShutdown)
			}
			s.lives.Wait()
			return nil
		}
	}
}

// liveChild leads the life of a child until that ends or rests.
func (s *Supervisor) liveChild(c *childInstance) {
	if c.runLife() {
		s.forgetChild(c)
		s.lives.Done()
	}
}

func (s *Supervisor) takeUnstarted() []*childInstance {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.unstarted
	s.unstarted = nil
	return all
}

// closeToChildren ends the taking of children. One whose life has not started gets its
// last snapshot here.
func (s *Supervisor) closeToChildren() []*childInstance {
	s.mu.Lock()
	s.closed = true
	unstarted := s.unstarted
	s.unstarted = nil
	all := s.liveChildren()
	s.mu.Unlock()
	for _, c := range unstarted {
		c.endNow(errShutdown)
		c.publishEnd()
	}
	return all
}

// instanceOf returns the child of a key, made if it is new; nil if there is no
// such Spec or the Supervisor has ended.
func (s *Supervisor) instanceOf(k spec.Key) *childInstance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instanceLocked(k, nil)
}

// instanceLocked works like instanceOf, under mu. A new one is made in the surroundings of by, if that
// is what its Spec still is; nil: in the ones of the one who has told the Spec.
func (s *Supervisor) instanceLocked(k spec.Key, by *spec.Spec) *childInstance {
	if c := s.children[k]; c != nil {
		return c
	}
	spec, ok := s.specs[k.Entry()]
	if !ok || s.closed {
		return nil
	}
	if by != nil && by.Variant != "" && by.Revision == spec.Revision {
		spec.Environ, spec.Dir = by.Environ, by.Dir
	}
	s.serial++
	c := newChild(k, spec, s.serial, &s.common, s.log)
	s.children[k] = c
	s.bySession[k.Instance] = append(s.bySession[k.Instance], c)
	s.unstarted = append(s.unstarted, c)
	worker.Signal(s.fresh)
	return c
}

func (s *Supervisor) childOf(k spec.Key) *childInstance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.children[k]
}

// Acquire waits until the instance is ready and has applied the roots last
// set, starting it if need be. The error is an *UnavailableError, with ctx's
// cause inside if that ended the waiting.
func (s *Supervisor) Acquire(ctx context.Context, k spec.Key) (*Lease, error) {
	c := s.childOf(k)
	if c == nil {
		return nil, s.unknownError(k)
	}
	return c.acquireLease(ctx)
}

// TryAcquire works like Acquire, but gives up if that takes waiting or a look at the disk.
func (s *Supervisor) TryAcquire(k spec.Key) (*Lease, bool) {
	c := s.childOf(k)
	if c == nil {
		return nil, false
	}
	v := c.snapshot.Load()
	if v.run == nil || v.gen < c.currentWanted().Gen || v.run.LookDue() || !v.run.Enter() {
		return nil, false
	}
	return &Lease{run: v.run, snapshot: v}, true
}

// LevelChanged has an instance told the level of its log that its sessions want by now, if it runs or once it does. It does not wait.
func (s *Supervisor) LevelChanged(k spec.Key) {
	if c := s.childOf(k); c != nil {
		worker.Signal(c.levelChanged)
	}
}

func (s *Supervisor) unknownError(k spec.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	reason := "it was not started for this session"
	if _, ok := s.specs[k.Entry()]; !ok {
		reason = "no server of this name is configured"
	}
	if s.closed {
		reason = errShutdown.Error()
	}
	return &run.UnavailableError{Child: k.Child, Reason: reason}
}

// Plan returns what Lease.Workplace would return if the instance were started now. ok
// is false if the instance runs, or could not be started.
func (s *Supervisor) Plan(k spec.Key) (cwd string, served []string, ok bool) {
	c := s.childOf(k)
	if c == nil {
		return "", nil, false
	}
	if v := c.snapshot.Load(); v.run != nil || v.final {
		return "", nil, false
	}
	return s.planWith(c, c.currentWanted())
}

// PlanWith returns what Lease.Workplace would return if the instance had been given these
// roots by SetRoots. ok is false if the instance could not be started with them.
func (s *Supervisor) PlanWith(k spec.Key, roots []guard.Root) (cwd string, served []string, ok bool) {
	c := s.childOf(k)
	if c == nil {
		return "", nil, false
	}
	if r := c.snapshot.Load().run; r != nil && !s.WouldReplace(k, roots) {
		return r.Launch.Dir, program.RootPaths(roots), true
	}
	w := c.currentWanted()
	w.Roots = roots
	return s.planWith(c, w)
}

func (s *Supervisor) planWith(c *childInstance, w wantedState) (cwd string, served []string, ok bool) {
	l, err := c.planLaunch(w, s.machineFor(c))
	return l.Dir, program.RootPaths(w.Roots), err == nil
}

// machineFor returns what a start of c would be planned with, but for the name
// of the folder of its own.
func (s *Supervisor) machineFor(c *childInstance) launch.Machine {
	m := c.baseMachine().WithShelter(c.spec.Program(), zerolog.Nop()).WithOwn(filepath.Join(sandbox.RealPath(os.TempDir()), ownFolder))
	return c.installedOn(m)
}

// WouldReplace reports whether the run of an instance would be replaced if it were given
// these roots by SetRoots, as far as that shows from outside.
func (s *Supervisor) WouldReplace(k spec.Key, roots []guard.Root) bool {
	c := s.childOf(k)
	if c == nil {
		return false
	}
	r := c.snapshot.Load().run
	if r == nil {
		return false
	}
	w := c.currentWanted()
	w.Roots = roots
	change := c.rootsChange(r, w, s.machineFor(c))
	change.SameRoots, change.Empty = servedroots.Same(roots, c.currentWanted().Roots), len(roots) == 0
	change.Rules = c.spec.Sandbox.Confines() && !change.SameRoots
	change.Probe, change.Asked = r.Roots.IsProbed(), r.Roots.WasAsked()
	return change.Decide() == servedroots.Replace
}

// Drop stops the instances of a session that has ended. It returns at once.
// Instance "" names no session: shared children stay.
func (s *Supervisor) Drop(instance string) {
	if instance == "" {
		return
	}
	s.dropInstances(instance, func(*childInstance) bool { return true })
}

// Status returns the state of every instance, by name; of one that a reload
// has replaced too, for as long as calls are under way in it.
func (s *Supervisor) Status() []Status {
	s.mu.Lock()
	instances := s.liveChildren()
	s.mu.Unlock()
	out := make([]Status, 0, len(instances))
	for _, c := range instances {
		out = append(out, c.currentStatus())
	}
	for i, c := range instances {
		out[i].Apart = s.apartNames(c, instances)
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Child, b.Child), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Variant, b.Variant))
	})
	return out
}

// apartNames names what keeps a shared instance apart from the ones of the same entry in
// other surroundings.
func (s *Supervisor) apartNames(c *childInstance, all []*childInstance) (names []string) {
	for _, o := range all {
		if o.key.Child == c.key.Child && o.key.Variant != c.key.Variant && c.spec.Share != spec.ShareSession {
			names = append(names, spec.Apart(s.common.withSurroundings(c.spec), s.common.withSurroundings(o.spec), s.common.machine)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Settled returns a channel that is closed once the instance is ready and
// listed, has failed its first start, or has ended; at once if there is no
// such instance. One that waits for a call is not settled.
func (s *Supervisor) Settled(k spec.Key) <-chan struct{} {
	if c := s.childOf(k); c != nil {
		return c.settled
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// AwaitLists waits until lists of a child that runs are in force, if the child has said
// that they have changed. It waits no longer than most.
func (s *Supervisor) AwaitLists(ctx context.Context, k spec.Key, which offers.Lists, most time.Duration) {
	if v := s.readySnapshot(k); v != nil {
		v.run.Await(ctx, which, most)
	}
}

// Refresh has lists of a child that runs read again in the background whose changes it does not
// announce, and which were not read for so long.
func (s *Supervisor) Refresh(k spec.Key, after time.Duration) {
	if v := s.readySnapshot(k); v != nil {
		v.run.Refresh(offers.Quiet(v.offer, &v.status.Lives), after)
	}
}

// readySnapshot returns the snapshot of an instance that may be called; nil if it may not.
func (s *Supervisor) readySnapshot(k spec.Key) *instanceSnapshot {
	c := s.childOf(k)
	if c == nil {
		return nil
	}
	if v := c.snapshot.Load(); v.run != nil {
		return v
	}
	return nil
}

// specOf returns what the configuration says about a child.
func (s *Supervisor) specOf(k spec.Key) (spec.Spec, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec, ok := s.specs[k.Entry()]
	return spec, ok
}

// ServedBy returns the Key of the instance that serves the clients of k. That is k itself,
// with one exception: if the instance is shared and the child is known to have only
// the other era, it is the Key with that era.
func (s *Supervisor) ServedBy(k spec.Key) spec.Key {
	spec, ok := s.specOf(k)
	if !ok || s.currentSnapshot(k, spec) != nil {
		return k
	}
	return s.common.servedBy(spec, k)
}

// currentSnapshot returns what there is of an instance by this Spec, started or not; else nil. If
// there is one, what is known of its program was read when it was made: nothing is read
// again.
func (s *Supervisor) currentSnapshot(k spec.Key, spec spec.Spec) *instanceSnapshot {
	c := s.childOf(k)
	if c == nil {
		return nil
	}
	v := c.snapshot.Load()
	if v.final || v.status.Revision != spec.Revision {
		return nil
	}
	return v
}

// Recall returns what a server offered when it was listed last for those with the same rights and roots, in this run of the hub
// or an earlier one with the very same entry and program, to a client with the same capabilities, else with none; nil if that
// is not known. It reads at most two small files and starts nothing. What comes from it may be shown; a Lease reports what the
// server offers now.
func (b BoundedSupervisor) Recall(k spec.Key, roots []guard.Root) *offers.RawOffer {
	spec, ok := b.s.specOf(k)
	if !ok {
		return nil
	}
	if v := b.s.currentSnapshot(k, spec); v != nil && v.offer != nil && v.offer.IsWhole() {
		return v.offer
	}
	return b.RecallAs(spec, k, roots)
}

// Manner returns how a server was spoken to last and what it is able to do, with whatever roots; nil if that is not known.
func (s *Supervisor) Manner(k spec.Key) *offers.RawOffer {
	spec, ok := s.specOf(k)
	if !ok {
		return nil
	}
	return s.common.recallManner(spec, k)
}

// RecallAs works like Recall for an entry that is not configured yet, or is configured differently.
func (b BoundedSupervisor) RecallAs(spec spec.Spec, k spec.Key, roots []guard.Root) *offers.RawOffer {
	spec = spec.WithDefaults()
	at := sights{roots, b.boundary, b.whose}
	o, _ := b.s.common.recallOffer(b.s.common.narrowDigest(b.s.common.offerDigest(spec, k), spec, at), spec, k, at)
	return o
}
