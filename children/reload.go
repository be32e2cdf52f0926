package children

import (
	"maps"
	"slices"

	"mcphub/children/confinement"
	"mcphub/children/limits"
	"mcphub/children/spec"
)

// InspectedPaths is what was seen on the disk of what Specs name. The zero value is of none.
type InspectedPaths map[spec.Entry]confinement.ExecutedPaths

// InspectPaths looks at the paths that Specs name, and remembers the targets of links among them. It must be called before any server
// of the Specs runs: a link that is changed afterwards opens nothing more. It may take as long as the disk does. ApplySpecs and SetSpecs
// do not look at the disk, so InspectPaths must have been called for each Spec that they bring.
func (s *Supervisor) InspectPaths(specs []spec.Spec) InspectedPaths {
	seen := make(InspectedPaths, len(specs))
	machine := s.common.machine.WithLookupCache() // most entries name the same paths
	defer machine.HoldNames()()
	for i := range specs {
		nextSpec := &specs[i]
		if _, isRepeated := seen[nextSpec.Entry()]; isRepeated || nextSpec.URL != "" {
			continue
		}
		prog := nextSpec.Program().ReadOnce(machine.Real)
		seen[nextSpec.Entry()] = machine.ExecutedBy(prog)
		if nextSpec.Sandbox.Confines() {
			machine.WithClientEnv(nextSpec.Environ, nextSpec.Dir).RememberLinks(prog)
		}
	}
	return seen
}

// InspectNewPaths works like InspectPaths, but for what is in force already: of that it has what was seen then.
func (s *Supervisor) InspectNewPaths(specs []spec.Spec) InspectedPaths {
	s.mu.Lock()
	seen := maps.Clone(s.looked)
	s.mu.Unlock()
	news := slices.DeleteFunc(slices.Clone(specs), func(one spec.Spec) bool { _, known := seen[one.Entry()]; return known })
	out := s.InspectPaths(news)
	for i := range specs {
		if o, known := seen[specs[i].Entry()]; known {
			out[specs[i].Entry()] = o
		}
	}
	return out
}

// ApplySpecs replaces the Specs. An instance whose Spec is Equal to what it was is left
// alone: same process, with the same Revision. Any other is retired: it takes no new call,
// and stops when its last call has ended, or when its session or the hub ends. Its calls keep the CallTimeout with which they began.
// Nothing is started: EnsureInstance and PrestartInstance make the instances that take their place.
// It returns at once.
func (s *Supervisor) ApplySpecs(specs []spec.Spec, seen ...InspectedPaths) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.looked = nil // what was seen before the reload counts no more
	s.setSpecsLocked(specs, seen)
	var gone []*childInstance
	for k, child := range s.children {
		if now, ok := s.specs[k.Entry()]; !ok || !now.Equal(child.spec) || now.Revision != child.spec.Revision {
			delete(s.children, k)
			gone = append(gone, child)
		}
	}
	unstarted := s.takeGone(gone)
	for _, child := range gone {
		if !slices.Contains(unstarted, child) {
			s.retired[child] = struct{}{}
		}
	}
	s.mu.Unlock()
	for _, child := range gone {
		child.retireWith(ErrReplaced)
	}
	for _, child := range unstarted {
		child.publishEnd()
	}
}

// MaxChildren returns how many children run at a time.
func (s *Supervisor) MaxChildren() int { return s.common.places.Most() }

// PlacesUsed returns how many children have a place.
func (s *Supervisor) PlacesUsed() limits.PlaceUse { return s.common.places.Used() }

// SetMaxEach replaces SupervisorOptions.MaxEach.
func (s *Supervisor) SetMaxEach(each int) { s.common.places.SetEach(each) }

// SetSpecs replaces the Specs. One of the same Revision is the same Spec. Unlike ApplySpecs it
// leaves alone the instances of Specs that are known no more: they end when no one needs
// them.
func (s *Supervisor) SetSpecs(specs []spec.Spec, seen ...InspectedPaths) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setSpecsLocked(specs, seen)
}

// setSpecsLocked expects the caller to hold mu.
func (s *Supervisor) setSpecsLocked(specs []spec.Spec, seen []InspectedPaths) {
	s.specs = indexByEntry(specs)
	looked := make(InspectedPaths, len(s.specs))
	var executed []confinement.ExecutedPaths
	for i := range specs { // in their order
		entryKey := specs[i].Entry()
		if _, isRepeated := looked[entryKey]; isRepeated {
			continue
		}
		for _, l := range append([]InspectedPaths{s.looked}, seen...) {
			if o, ok := l[entryKey]; ok {
				looked[entryKey] = o
				executed = append(executed, o)
				break
			}
		}
	}
	s.looked = looked
	s.common.machine.SetExecuted(executed)
}

// forgetChild lets go of an instance that has ended.
func (s *Supervisor) forgetChild(child *childInstance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.retired, child)
	s.unlistChild(child)
}

// unlistChild expects the caller to hold mu.
func (s *Supervisor) unlistChild(child *childInstance) {
	k := child.key.Instance
	if left := slices.DeleteFunc(s.bySession[k], func(old *childInstance) bool { return old == child }); len(left) > 0 {
		s.bySession[k] = left
	} else {
		delete(s.bySession, k)
	}
}

// liveChildren lists the instances that live; mu is held.
func (s *Supervisor) liveChildren() []*childInstance {
	all := make([]*childInstance, 0, len(s.children)+len(s.retired))
	for _, child := range s.children {
		all = append(all, child)
	}
	for child := range s.retired {
		all = append(all, child)
	}
	return all
}

// indexByEntry indexes Specs by their entry; the first of several counts.
func indexByEntry(specs []spec.Spec) map[spec.Entry]spec.Spec {
	out := make(map[spec.Entry]spec.Spec, len(specs))
	for _, one := range slices.Backward(specs) {
		out[one.Entry()] = one.WithDefaults()
	}
	return out
}
