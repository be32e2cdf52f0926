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

// Preview returns what [Plan] would hold a program to, for a session with these roots. It
// starts, makes and remembers nothing. It returns nil if the kernel would not confine the
// program.
func (m Machine) Preview(prog program.Program, roots []guard.Root) *hints.Reader {
	if c := m.planPreview(prog, roots); c != nil && c.Profile != nil {
		return &c.Words
	}
	return nil
}

// planPreview plans a start and leaves no trace. It returns nil if nothing would be confined, or if
// nothing would start.
func (m Machine) planPreview(prog program.Program, roots []guard.Root) *confinement.Confinement {
	m.Host = m.Host.Preview(program.RootPaths(roots))
	none := filepath.Join(os.TempDir(), "mcp-preview") // instead of folders that a run would have; no one makes it
	m.scratch, m.temp, m.cache, m.own = none, none, none, none
	l, err := Plan(prog, roots, m)
	if err != nil {
		return nil
	}
	return l.Sandbox
}

// News returns what the names of an entry open, if no one was told yet (see Told). It leaves no trace.
func (m Machine) News(prog program.Program) []string {
	if m.IsAnnounced(prog) {
		return nil
	}
	if c := m.planPreview(prog, nil); c != nil {
		return c.Opens
	}
	return nil
}

// Recorded returns what is opened of each path that a person has confirmed for a program, in words. differs reports that its entry or
// its program is another one than the profile was confirmed for. Of a package that a launcher runs, only a start knows the version.
func (m Machine) Recorded(prog program.Program) (opens []string, differs bool) {
	c := m.planPreview(prog, nil)
	if c == nil {
		return nil, false
	}
	for _, n := range c.Report.Recorded {
		text := n.Key + " " + n.Path
		if n.Why != "" {
			text += ", which is closed: " + n.Why
		}
		opens = append(opens, text)
	}
	_, runsPackage := prog.Package()
	return opens, !runsPackage && c.Report.Of != "" && c.Report.Of != prog.Sandbox.Recorded.Of
}

// RememberLinks remembers where the names of a new entry lead, before any server runs. Names that depend on
// roots are remembered at the first start.
func (m Machine) RememberLinks(prog program.Program) {
	if !m.Host.RememberFiles(prog) {
		return
	}
	// Nothing starts by this plan. It has a root, because ${root} would be an error without one.
	m.scratch, m.temp, m.cache, m.own = os.TempDir(), os.TempDir(), os.TempDir(), os.TempDir()
	_, _ = Plan(prog, []guard.Root{{Path: "/"}}, m.WithBoundary(sandbox.Boundary{}))
}
