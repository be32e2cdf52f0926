package children

import (
	"mcphub/children/confinement"
	"mcphub/children/hints"
	"mcphub/children/launch"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/rootsmgr/guard"
)

// Lacks says what is missing to start a server of this Spec, such as its program. It
// starts nothing. It leaves out what depends on the roots of a session.
func Lacks(s spec.Spec, o Options) []launch.Lack {
	if s.URL != "" {
		return nil
	}
	return launch.NewMachine(o.Environ, o.Home, o.Dir).Lacks(s.Program())
}

// Confinement tells what the kernel would hold a server to, for a session with these roots. It
// starts nothing. It is nil where that is nothing.
func Confinement(s spec.Spec, o Options, roots []guard.Root) *hints.Reader {
	if s.URL != "" {
		return nil
	}
	return launch.NewMachine(o.Environ, o.Home, o.Dir).Preview(s.Program(), roots)
}

// News tells what the names of each entry open that nobody was told of yet, by the names of
// the servers. It starts nothing and leaves no trace.
func News(specs []spec.Spec, o Options) map[string][]string {
	m := launch.NewMachine(o.Environ, o.Home, o.Dir)
	among(m, specs)
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

// among tells a machine of all entries.
func among(m launch.Machine, specs []spec.Spec) {
	var all []confinement.Obeyed
	for i := range specs {
		if specs[i].URL == "" {
			all = append(all, m.Obeys(specs[i].Program()))
		}
	}
	m.Among(all)
}

// KnownTools are the names of the tools that a server of this Spec has offered
// so far to hubs with this folder for what they remember, sorted; nil where
// nothing is known of it.
func KnownTools(cache string, s spec.Spec) []string {
	return offers.KnownTools(cache, s.Entry())
}
