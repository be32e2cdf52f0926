package children

import (
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
	return s.Program().Lacks(launch.NewMachine(o.Environ, o.Home, o.Dir))
}

// Preview tells what the kernel would hold a server to, for a session with these roots. It
// starts nothing. It is nil where that is nothing.
func Preview(s spec.Spec, o Options, roots []guard.Root) *hints.Reader {
	if s.URL != "" {
		return nil
	}
	return launch.NewMachine(o.Environ, o.Home, o.Dir).Preview(s.Program(), roots)
}

// KnownTools are the names of the tools that a server of this Spec has offered
// so far to hubs with this folder for what they remember, sorted; nil where
// nothing is known of it.
func KnownTools(cache string, s spec.Spec) []string {
	return offers.KnownTools(cache, s.Entry())
}
