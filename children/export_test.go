package children

import (
	"time"

	"mcphub/children/health"
)

// Hasten makes children be looked at and asked so much sooner that a test need not
// wait: it must come before Run.
func (s *Supervisor) Hasten() {
	s.common.pace = health.Pace{Every: 5 * time.Millisecond, Quiet: 15 * time.Millisecond, Least: 50 * time.Millisecond, Most: 50 * time.Millisecond}
}
