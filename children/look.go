package children

import (
	"mcphub/children/launch"
	"mcphub/children/offers"
)

// Lacks says what a server of this Spec cannot be started for, as far as that can be
// told by looking. It starts nothing. What only the roots of a session tell is left
// out.
func Lacks(s Spec, o Options) []launch.Lack {
	if s.URL != "" {
		return nil
	}
	return s.Program().Lacks(launch.NewMachine(o.Environ, o.Home, o.Dir))
}

// KnownTools are the names of the tools that a server of this Spec has offered
// so far to hubs with this folder for what they remember, sorted; nil where
// nothing is known of it.
func KnownTools(cache string, s Spec) []string {
	return offers.KnownTools(cache, s.Entry())
}
