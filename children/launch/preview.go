package launch

import (
	"os"
	"path/filepath"

	"mcphub/children/confinement"
	"mcphub/children/hints"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/rootsmgr/guard"
)

// This file plans starts that never happen: to tell people what an entry opens, and to
// remember where its names lead before any server can change that.

// Names tells what becomes of the paths that the entry of a program names, for a session
// with these roots: what [Plan] would put into a report. It starts nothing, makes nothing
// and remembers nothing. It is nil where the kernel is to hold nothing.
func (h Machine) Names(prog program.Program, roots []guard.Root) []sandbox.Named {
	if r := h.Preview(prog, roots); r != nil {
		return r.Named
	}
	return nil
}

// Preview is what a program of an entry is to be held to, as Names tells it.
func (h Machine) Preview(prog program.Program, roots []guard.Root) *hints.Reader {
	if c := h.preview(prog, roots); c != nil && c.Profile != nil {
		return &c.Words
	}
	return nil
}

// preview plans a start without leaving a trace; nil where nothing is held, or nothing
// starts.
func (h Machine) preview(prog program.Program, roots []guard.Root) *confinement.Confinement {
	h.Host = h.Host.Preview(program.RootPaths(roots))
	none := filepath.Join(os.TempDir(), "mcp-preview") // what is the run's own names nothing, and opens nothing else
	h.scratch, h.temp, h.cache, h.own = none, none, none, none
	l, err := Plan(prog, roots, h)
	if err != nil {
		return nil
	}
	return l.Sandbox
}

// News are the paths that the names of an entry open, with what is open, where [Machine.Told]
// was not called for this entry. It leaves no trace.
func (h Machine) News(prog program.Program) []string {
	if h.WasTold(prog) {
		return nil
	}
	if c := h.preview(prog, nil); c != nil {
		return c.Opens
	}
	return nil
}

// Settle remembers what an entry names before any server runs, where that has not been done
// before. What only roots tell is remembered at the first start.
func (h Machine) Settle(prog program.Program) {
	if !h.Host.Settle(prog) {
		return
	}
	// A plan that nothing is started by: there is a root, or ${root} would be an error.
	h.scratch, h.temp, h.cache, h.own = os.TempDir(), os.TempDir(), os.TempDir(), os.TempDir()
	_, _ = Plan(prog, []guard.Root{{Path: "/"}}, h.Within(sandbox.Boundary{}))
}
