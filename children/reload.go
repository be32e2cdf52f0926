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

// Inspect looks at the paths that Specs name, and remembers the targets of links among them. It must be called before any server
// of the Specs runs: a link that is changed afterwards opens nothing more. It may take as long as the disk does. Apply and SetSpecs
// do not look at the disk, so Inspect must have been called for each Spec that they bring.
func (s *Supervisor) Inspect(specs []spec.Spec) InspectedPaths {
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

// InspectNew works like Inspect, but for what is in force already: of that it has what was seen then.
func (s *Supervisor) InspectNew(specs []spec.Spec) InspectedPaths {
	s.mu.Lock()
	seen := maps.Clone(s.looked)
	s.mu.Unlock()
	news := slices.DeleteFunc(slices.Clone(specs), func(one spec.Spec) bool { _, known := seen[one.Entry()]; return known })
	out := s.Inspect(news)
	for i := range specs {
		if o, known := seen[specs[i].Entry()]; known {
			out[specs[i].Entry()] = o
		}
	}
	return out
}

// Apply replaces the Specs. An instance whose Spec is Equal to what it was is left
// alone: same process, with the same Revision. Any other is retired: it takes no new call,
// and stops when its last call has ended, or when its session or the hub ends. Its calls keep the CallTimeout with which they began.
// Nothing is started: Ensure and Prestart make the instances that take their place.
// It returns at once.
func (s *Supervisor) Apply(specs []spec.Spec, seen ...InspectedPaths) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.looked = nil // what was seen before the reload counts no more
	s.setSpecsLocked(specs, seen)
	var gone []*childInstance
	for k, c := range s.children {
		if now, ok := s.specs[k.Entry()]; !ok || !now.Equal(c.spec) || now.Revision != c.spec.Revision {
			delete(s.children, k)
			gone = append(gone, c)
		}
	}
	unstarted := s.takeBack(gone)
	for _, c := range gone {
		if !slices.Contains(unstarted, c) {
			s.retired[c] = struct{}{}
		}
	}
	s.mu.Unlock()
	for _, c := range gone {
		c.retireWith(ErrReplaced)
	}
	for _, c := range unstarted {
		c.publishEnd()
	}
}

// MaxChildren returns how many children run at a time.
func (s *Supervisor) MaxChildren() int { return s.common.places.Most() }

// PlacesUsed returns how many children have a place.
func (s *Supervisor) PlacesUsed() limits.PlaceUse { return s.common.places.Used() }

// SetMaxEach replaces SupervisorOptions.MaxEach.
func (s *Supervisor) SetMaxEach(each int) { s.common.places.SetEach(each) }

// SetSpecs replaces the Specs. One of the same Revision is the same Spec. Unlike Apply it
// leaves alone the instances of Specs that are known no more: they end when no one needs
// them.
func (s *Supervisor) SetSpecs(specs []spec.Spec, seen ...InspectedPaths) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setSpecsLocked(specs, seen)
}

// setSpecsLocked expects the caller to hold mu.
func (s *Supervisor) setSpecsLocked(specs []spec.Spec, seen []InspectedPaths) {
	s.specs = byEntry(specs)
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
func (s *Supervisor) forgetChild(c *childInstance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.retired, c)
	s.unlistChild(c)
}

// unlistChild expects the caller to hold mu.
func (s *Supervisor) unlistChild(c *childInstance) {
	k := c.key.Instance
	if left := slices.DeleteFunc(s.bySession[k], func(old *childInstance) bool { return old == c }); len(left) > 0 {
		s.bySession[k] = left
	} else {
		delete(s.bySession, k)
	}
}

// liveChildren lists the instances that live; mu is held.
func (s *Supervisor) liveChildren() []*childInstance {
	all := make([]*childInstance, 0, len(s.children)+len(s.retired))
	for _, c := range s.children {
		all = append(all, c)
	}
	for c := range s.retired {
		all = append(all, c)
	}
	return all
}

// byEntry indexes Specs by their entry; the first of several counts.
func byEntry(specs []spec.Spec) map[spec.Entry]spec.Spec {
	out := make(map[spec.Entry]spec.Spec, len(specs))
	for _, one := range slices.Backward(specs) {
		out[one.Entry()] = one.WithDefaults()
	}
	return out
}
