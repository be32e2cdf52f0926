package setup

import (
	"fmt"
	"io"
	"runtime"

	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/hub"
	"mcphub/validate/declare"
)

// shareByRoots has sessions with the same roots share the process of a server of which hub.json
// does not say who shares it, if its profile says that it keeps nothing of a session. A
// server that a rule may ask about stays with its session: a shared one takes no grants.
func shareByRoots(file *config.File, cfg *hub.Config) {
	said := map[string]*config.Server{}
	for i := range file.Servers {
		said[file.Servers[i].Name] = &file.Servers[i]
	}
	for i := range cfg.Children {
		child := &cfg.Children[i].Spec
		entry := said[child.Name]
		known := profileOf(entry)
		if entry.Share != "" || known == nil || !known.Stateless {
			continue
		}
		child.ShareWhy = fmt.Sprintf("the profile %s says that it keeps nothing of a session", known.Name)
		if rule := cfg.Checker.Rules().EscalatingRule(child.Name); rule != "" {
			child.ShareWhy += fmt.Sprintf(", but the rule %q may ask about its calls, and a shared server takes no grants", rule)
			continue
		}
		child.Share = spec.ShareRoots
		if entry.Timeout.Idle == nil {
			child.IdleTimeout = sharedIdle
		}
	}
}

// ShareAs sets Shares as hub.json says. Commands that only look call it, to see what a shared hub
// would build. A shared hub itself sets Shares.
func (s *Source) ShareAs() {
	file, err := s.Load(io.Discard)
	s.Shares = err == nil && file.Attach.Mode == keys.AttachAuto && runtime.GOOS == "linux"
}

// profileOf returns the profile of what an entry starts, nil where none is known. What
// a server calls itself does not count.
func profileOf(entry *config.Server) *declare.Profile {
	if entry.Builtin == keys.BuiltinFiles {
		return declare.ByServer("mcphub-files")
	}
	return declare.ByCommand(entry.Command, entry.Args)
}
