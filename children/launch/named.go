package launch

import (
	"os"

	"mcphub/children/sandbox"
	"mcphub/rootsmgr"
)

// Names tells what becomes of the paths that the entry of a program names, for a session
// with these roots: what [Plan] would put into a report. It starts nothing, makes nothing
// and remembers nothing. It is nil where the kernel is to hold nothing.
func (h Machine) Names(prog Program, roots []rootsmgr.Root) []sandbox.Named {
	h.memory = h.memory.preview()
	h.scratch, h.temp, h.cache, h.own = os.TempDir(), os.TempDir(), os.TempDir(), os.TempDir()
	for _, r := range roots {
		h.boundary.Areas = append(h.boundary.Areas, sandbox.Rule{Path: r.Path, Access: sandbox.Read | sandbox.Write | sandbox.Execute})
	}
	l, err := Plan(prog, roots, h)
	if err != nil || l.Sandbox == nil {
		return nil
	}
	return l.Sandbox.Report.Named
}
