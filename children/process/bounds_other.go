//go:build unix && !linux

package process

import (
	"os/exec"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/program"
)

// bounds keep no one to anything here: no group of processes can be bounded, and who
// descends from a child cannot be told.
type bounds struct {
	limits  program.Limits
	refused chan struct{} // nil: nothing reports it
}

func newBounds(l launch.Launch) bounds { return bounds{limits: l.Limits} }

func (bound *bounds) reportBounds() link.Bounds {
	return link.Bounds{By: link.ByNobody, Why: "this system bounds no group of processes", Memory: bound.limits.Memory, Processes: bound.limits.Processes}
}

func (*bounds) isGrouped() bool            { return false }
func (*bounds) joinGroup(*exec.Cmd)        {}
func (*bounds) killGroup()                 {}
func (*bounds) removeGroup(zerolog.Logger) {}

func (*group) exceededLimit() string { return "" }
