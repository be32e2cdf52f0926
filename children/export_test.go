package children

import "time"

// Hasten makes children be looked at and asked so much sooner that a test need not
// wait: it must come before Run.
func (s *Supervisor) Hasten() {
	s.common.pace = pace{every: 5 * time.Millisecond, quiet: 15 * time.Millisecond, least: 50 * time.Millisecond, most: 50 * time.Millisecond}
}
