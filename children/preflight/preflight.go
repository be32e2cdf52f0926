package preflight

import (
	"mcphub/children/confinement"
	"mcphub/children/hints"
	"mcphub/children/launch"
	"mcphub/children/spec"
	"mcphub/rootsmgr/guard"
)

// A Host is what servers would be started with.
type Host struct {
	Environ   []string // what they inherit from
	Home, Dir string   // of the user, and the working directory
}

func (h Host) launchMachine() launch.Machine { return launch.NewMachine(h.Environ, h.Home, h.Dir) }

// Lacks returns what is missing to start a server of this Spec, such as its program.
// It starts nothing. It leaves out what depends on the roots of a session.
func (h Host) Lacks(s spec.Spec) []launch.Lack {
	if s.URL != "" {
		return nil
	}
	return h.launchMachine().Lacks(s.Program())
}

// Confinement returns what the kernel would hold a server to, for a session with these roots.
// It starts nothing. It is nil if that is nothing.
func (h Host) Confinement(s spec.Spec, roots []guard.Root) *hints.Reader {
	if s.URL != "" {
		return nil
	}
	return h.launchMachine().Preview(s.Program(), roots)
}

// News returns what the names of each entry open that no one was told about yet, by the
// names of the servers. It starts nothing and leaves no trace.
func (h Host) News(specs []spec.Spec) map[string][]string {
	m := h.launchMachine()
	tellEntries(m, specs)
	news := map[string][]string{}
	for i := range specs {
		if s := &specs[i]; s.URL == "" && s.Sandbox.Confines() {
			if opens := m.News(s.Program()); len(opens) > 0 {
				news[s.Name] = opens
			}
		}
	}
	return news
}

// Recorded returns what is opened of the recorded profile of each entry, in words, by the names of the servers. differs has those
// whose entry or program is another one than the profile was confirmed for. It starts nothing and leaves no trace.
func (h Host) Recorded(specs []spec.Spec) (opens map[string][]string, differs map[string]bool) {
	m := h.launchMachine()
	tellEntries(m, specs)
	opens, differs = map[string][]string{}, map[string]bool{}
	for i := range specs {
		if s := &specs[i]; s.URL == "" && len(s.Sandbox.Recorded.Paths) > 0 && s.Sandbox.Confines() {
			opens[s.Name], differs[s.Name] = m.Recorded(s.Program())
		}
	}
	return opens, differs
}

// tellEntries informs a machine of all entries.
func tellEntries(m launch.Machine, specs []spec.Spec) {
	var all []confinement.ExecutedPaths
	for i := range specs {
		if specs[i].URL == "" {
			all = append(all, m.ExecutedBy(specs[i].Program()))
		}
	}
	m.SetExecuted(all)
}
