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
	s.common.Specs = nil // ApplySpecs replaces them
	if s.common.Launcher == nil {
		s.common.Launcher = ByURL{}
	}
	s.common.memory, s.common.definitions = offers.NewMemory(options.Cache, options.Log), offers.NewDefinitions(options.Cache, options.Log)
	s.common.startSlots = limits.NewStartSlots(options.MaxStarting)
	s.common.places, s.common.dropUnheld, s.common.giveUp = limits.NewPlaces(options.MaxChildren, options.MaxEach), s.dropUnheld, s.giveUpInstance
	s.common.resume = func(child *childInstance) { go s.liveChild(child) }
	s.common.packages = packages.NewStore(packagesFolder(s.common.machine))
	s.life, s.end = context.WithCancelCause(context.Background())
	s.common.background = func(f func(ctx context.Context)) { s.lives.Go(func() { f(s.life) }) }
	s.specs = indexByEntry(options.Specs)
	return s
}

// Run keeps the children until ctx ends, then stops them, all at once. It
// returns when none of them is left.
func (s *Supervisor) Run(ctx context.Context) error {
	s.mu.Lock()
	specs := slices.Collect(maps.Values(s.specs))
	s.mu.Unlock()
	seen := s.InspectPaths(specs)
	s.mu.Lock()
	s.setSpecsLocked(slices.Collect(maps.Values(s.specs)), []InspectedPaths{seen}) // a reload may have come before
	s.mu.Unlock()
	for {
		for _, child := range s.takeUnstarted() {
			s.lives.Add(1)
			go s.liveChild(child)
		}
		select {
		case <-s.fresh:
		case <-ctx.Done():
			s.end(errShutdown)
			for _, child := range s.closeToChildren() {
				child.stopWith(errShutdown)
			}
			s.lives.Wait()
			return nil
		}
	}
}

// liveChild leads the life of a child until that ends or rests.
func (s *Supervisor) liveChild(child *childInstance) {
	if child.runLife() {
		s.forgetChild(child)
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
	for _, child := range unstarted {
		child.endNow(errShutdown)
		child.publishEnd()
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
	if child := s.children[k]; child != nil {
		return child
	}
	spec, ok := s.specs[k.Entry()]
	if !ok || s.closed {
		return nil
	}
	if by != nil && by.Variant != "" && by.Revision == spec.Revision {
		spec.Environ, spec.Dir = by.Environ, by.Dir
	}
	s.serial++
	child := newChild(k, spec, s.serial, &s.common, s.log)
	s.children[k] = child
	s.bySession[k.Instance] = append(s.bySession[k.Instance], child)
	s.unstarted = append(s.unstarted, child)
	worker.Signal(s.fresh)
	return child
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
	child := s.childOf(k)
	if child == nil {
		return nil, s.unknownError(k)
	}
	return child.acquireLease(ctx)
}

// TryAcquire works like Acquire, but gives up if that takes waiting or a look at the disk.
func (s *Supervisor) TryAcquire(k spec.Key) (*Lease, bool) {
	child := s.childOf(k)
	if child == nil {
		return nil, false
	}
	v := child.snapshot.Load()
	if v.run == nil || v.gen < child.currentWanted().Gen || v.run.LookDue() || !v.run.Enter() {
		return nil, false
	}
	return &Lease{run: v.run, snapshot: v}, true
}

// UpdateLevel has an instance told the level of its log that its sessions want by now, if it runs or once it does. It does not wait.
func (s *Supervisor) UpdateLevel(k spec.Key) {
	if child := s.childOf(k); child != nil {
		worker.Signal(child.levelChanged)
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

// PlanWorkplace returns what Lease.Workplace would return if the instance were started now. ok
// is false if the instance runs, or could not be started.
func (s *Supervisor) PlanWorkplace(k spec.Key) (cwd string, served []string, ok bool) {
	child := s.childOf(k)
	if child == nil {
		return "", nil, false
	}
	if v := child.snapshot.Load(); v.run != nil || v.final {
		return "", nil, false
	}
	return s.planWith(child, child.currentWanted())
}

// PlanWorkplaceWith returns what Lease.Workplace would return if the instance had been given these
// roots by SetRoots. ok is false if the instance could not be started with them.
func (s *Supervisor) PlanWorkplaceWith(k spec.Key, roots []guard.Root) (cwd string, served []string, ok bool) {
	child := s.childOf(k)
	if child == nil {
		return "", nil, false
	}
	if r := child.snapshot.Load().run; r != nil && !s.WouldReplace(k, roots) {
		return r.Launch.Dir, program.RootPaths(roots), true
	}
	w := child.currentWanted()
	w.Roots = roots
	return s.planWith(child, w)
}

func (s *Supervisor) planWith(child *childInstance, w wantedState) (cwd string, served []string, ok bool) {
	l, err := child.planLaunch(w, s.machineFor(child))
	return l.Dir, program.RootPaths(w.Roots), err == nil
}

// machineFor returns what a start of child would be planned with, but for the name
// of the folder of its own.
func (s *Supervisor) machineFor(child *childInstance) launch.Machine {
	m := child.baseMachine().WithShelter(child.spec.Program(), zerolog.Nop()).WithOwn(filepath.Join(sandbox.RealPath(os.TempDir()), ownFolder))
	return child.machineWithCopy(m)
}

// WouldReplace reports whether the run of an instance would be replaced if it were given
// these roots by SetRoots, as far as that shows from outside.
func (s *Supervisor) WouldReplace(k spec.Key, roots []guard.Root) bool {
	child := s.childOf(k)
	if child == nil {
		return false
	}
	r := child.snapshot.Load().run
	if r == nil {
		return false
	}
	w := child.currentWanted()
	w.Roots = roots
	change := child.rootsChange(r, w, s.machineFor(child))
	change.SameRoots, change.Empty = servedroots.Same(roots, child.currentWanted().Roots), len(roots) == 0
	change.Rules = child.spec.Sandbox.Confines() && !change.SameRoots
	change.Probe, change.Asked = r.Roots.IsProbed(), r.Roots.WasAsked()
	return change.Decide() == servedroots.Replace
}

// DropInstances stops the instances of a session that has ended. It returns at once.
// Instance "" names no session: shared children stay.
func (s *Supervisor) DropInstances(instance string) {
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
	for _, child := range instances {
		out = append(out, child.currentStatus())
	}
	for i, child := range instances {
		out[i].Apart = s.apartNames(child, instances)
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Child, b.Child), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Variant, b.Variant))
	})
	return out
}

// apartNames names what keeps a shared instance apart from the ones of the same entry in
// other surroundings.
func (s *Supervisor) apartNames(child *childInstance, all []*childInstance) (names []string) {
	for _, o := range all {
		if o.key.Child == child.key.Child && o.key.Variant != child.key.Variant && child.spec.Share != spec.ShareSession {
			names = append(names, spec.Apart(s.common.withSurroundings(child.spec), s.common.withSurroundings(o.spec), s.common.machine)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Settled returns a channel that is closed once the instance is ready and
// listed, has failed its first start, or has ended; at once if there is no
// such instance. One that waits for a call is not settled.
func (s *Supervisor) Settled(k spec.Key) <-chan struct{} {
	if child := s.childOf(k); child != nil {
		return child.settled
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

// RefreshLists has lists of a child that runs read again in the background whose changes it does not
// announce, and which were not read for so long.
func (s *Supervisor) RefreshLists(k spec.Key, after time.Duration) {
	if v := s.readySnapshot(k); v != nil {
		v.run.Refresh(offers.Quiet(v.offer, &v.status.Lives), after)
	}
}

// readySnapshot returns the snapshot of an instance that may be called; nil if it may not.
func (s *Supervisor) readySnapshot(k spec.Key) *instanceSnapshot {
	child := s.childOf(k)
	if child == nil {
		return nil
	}
	if v := child.snapshot.Load(); v.run != nil {
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

// ServingKey returns the Key of the instance that serves the clients of k. That is k itself,
// with one exception: if the instance is shared and the child is known to have only
// the other era, it is the Key with that era.
func (s *Supervisor) ServingKey(k spec.Key) spec.Key {
	spec, ok := s.specOf(k)
	if !ok || s.currentSnapshot(k, spec) != nil {
		return k
	}
	return s.common.servingKey(spec, k)
}

// currentSnapshot returns what there is of an instance by this Spec, started or not; else nil. If
// there is one, what is known of its program was read when it was made: nothing is read
// again.
func (s *Supervisor) currentSnapshot(k spec.Key, spec spec.Spec) *instanceSnapshot {
	child := s.childOf(k)
	if child == nil {
		return nil
	}
	v := child.snapshot.Load()
	if v.final || v.status.Revision != spec.Revision {
		return nil
	}
	return v
}

// RecallOffer returns what a server offered when it was listed last for those with the same rights and roots, in this run of the hub
// or an earlier one with the very same entry and program, to a client with the same capabilities, else with none; nil if that
// is not known. It reads at most two small files and starts nothing. What comes from it may be shown; a Lease reports what the
// server offers now.
func (b BoundedSupervisor) RecallOffer(k spec.Key, roots []guard.Root) *offers.RawOffer {
	offer, _, _ := b.recallOffer(k, roots)
	return offer
}

// RecallOfferOrManner works like RecallOffer. If the offer is not known, it returns what RecallManner does.
func (b BoundedSupervisor) RecallOfferOrManner(k spec.Key, roots []guard.Root) *offers.RawOffer {
	offer, spec, digest := b.recallOffer(k, roots)
	if offer != nil {
		return offer
	}
	return b.s.common.recallManner(spec, digest)
}

// recallOffer returns, if the offer is not known, the Spec and the offerDigest that it was looked up by. Both are empty without a Spec.
func (b BoundedSupervisor) recallOffer(k spec.Key, roots []guard.Root) (offer *offers.RawOffer, s spec.Spec, digest string) {
	s, ok := b.s.specOf(k)
	if !ok {
		return nil, s, ""
	}
	if v := b.s.currentSnapshot(k, s); v != nil && v.offer != nil && v.offer.IsWhole() {
		return v.offer, s, ""
	}
	offer, digest = b.recallOfferOf(s, k, roots)
	return offer, s, digest
}

// RecallManner returns how a server was spoken to last and what it is able to do, with whatever roots; nil if that is not known.
func (s *Supervisor) RecallManner(k spec.Key) *offers.RawOffer {
	spec, ok := s.specOf(k)
	if !ok {
		return nil
	}
	return s.common.recallManner(spec, s.common.offerDigest(s.common.machineOf(spec), spec, k))
}

// RecallOfferAs works like RecallOffer for an entry that is not configured yet, or is configured differently.
func (b BoundedSupervisor) RecallOfferAs(s spec.Spec, k spec.Key, roots []guard.Root) *offers.RawOffer {
	offer, _ := b.recallOfferOf(s.WithDefaults(), k, roots)
	return offer
}

// recallOfferOf returns the offer that is remembered of a Spec and these roots, nil if none is, and its offerDigest.
func (b BoundedSupervisor) recallOfferOf(s spec.Spec, k spec.Key, roots []guard.Root) (offer *offers.RawOffer, digest string) {
	at, digest := sights{roots, b.boundary, b.whose}, b.s.common.offerDigest(b.s.common.machineOf(s), s, k)
	offer, _ = b.s.common.recallOffer(b.s.common.narrowDigest(digest, s, at), s, k, at)
	return offer, digest
}
