package children

import (
	"slices"

	"mcphub/children/spec"
)

// Apply replaces the Specs. An instance whose Spec is Equal to what it was is left
// alone: same process, with the same Revision. Any other is retired: it takes no new call,
// and stops when its last call has ended, or when its session or the hub ends.
// Nothing is started: Ensure and Prestart make the instances that take their place.
// It returns at once.
func (s *Supervisor) Apply(specs []spec.Spec) {
	s.settle(specs)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.specs = byEntry(specs)
	var gone []*child
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
		c.replace(ErrReplaced)
	}
	for _, c := range unstarted {
		c.finish()
	}
}

// Know replaces the Specs by others, of which those that have the same Revision as before are
// the same. Unlike Apply it leaves alone the instances of Specs that are known no more: they end
// when nobody needs them.
func (s *Supervisor) Know(specs []spec.Spec) {
	known := func(one spec.Spec) bool { _, ok := s.specs[one.Of()]; return ok }
	s.mu.Lock()
	news := slices.DeleteFunc(slices.Clone(specs), known)
	s.mu.Unlock()
	if len(news) > 0 {
		s.settle(specs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.specs = byEntry(specs)
}

// settle remembers what entries name before any server of theirs runs: what is relinked
// afterwards opens nothing more.
func (s *Supervisor) settle(specs []spec.Spec) {
	among(s.common.machine, specs)
	for i := range specs {
		if specs[i].URL == "" && specs[i].Sandbox.Confines() {
			s.common.machineOf(specs[i]).Settle(specs[i].Program())
		}
	}
}

// forget lets go of an instance that has ended.
func (s *Supervisor) forget(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.retired, c)
	s.unlist(c)
}

// unlist is for callers that hold mu.
func (s *Supervisor) unlist(c *child) {
	k := c.key.Instance
	if left := slices.DeleteFunc(s.bySession[k], func(old *child) bool { return old == c }); len(left) > 0 {
		s.bySession[k] = left
	} else {
		delete(s.bySession, k)
	}
}

// everybody lists the instances that live; mu is held.
func (s *Supervisor) everybody() []*child {
	all := make([]*child, 0, len(s.children)+len(s.retired))
	for _, c := range s.children {
		all = append(all, c)
	}
	for c := range s.retired {
		all = append(all, c)
	}
	return all
}

// byEntry has of several Specs of an entry that come to the same the first.
func byEntry(specs []spec.Spec) map[spec.Entry]spec.Spec {
	out := make(map[spec.Entry]spec.Spec, len(specs))
	for _, spec := range slices.Backward(specs) {
		out[spec.Of()] = spec.WithDefaults()
	}
	return out
}
