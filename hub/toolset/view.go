package toolset

import (
	"slices"
	"strings"
)

// A View is the part of the servers that a session sees. A nil View shows everything, the zero value nothing.
type View struct {
	sets  []*Set   // by name
	names []string // of sets
}

func (v *View) hasSet(shows func(*Set) bool) bool {
	return v == nil || slices.ContainsFunc(v.sets, shows)
}

// ShowsServer reports whether anything of a server is shown. No other server is started for the session.
func (v *View) ShowsServer(server string) bool {
	return v.hasSet(func(s *Set) bool { return s.showsServer(server) })
}

// ShowsWhole reports whether more of a server is shown than some of its tools: what it says about itself, its prompts, resources and
// extensions.
func (v *View) ShowsWhole(server string) bool {
	return v.hasSet(func(s *Set) bool { return s.showsWhole(server) })
}

// ShowsTool reports whether a tool is shown, by the server's own name for it.
func (v *View) ShowsTool(server, tool string) bool {
	return v.hasSet(func(s *Set) bool { return s.showsTool(server, tool) })
}

// ShowsPrompt reports whether a prompt is shown, by the server's own name for it.
func (v *View) ShowsPrompt(server, prompt string) bool {
	return v.hasSet(func(s *Set) bool { return s.showsWhole(server) && !anyMatches(s.Exclude, server, prompt) })
}

// Names returns the names of the toolsets, in order.
func (v *View) Names() []string {
	if v == nil {
		return nil
	}
	return v.names
}

// IsEmpty reports whether nothing can be shown.
func (v *View) IsEmpty() bool { return v != nil && len(v.sets) == 0 }

// Key tells Views of one Table apart.
func (v *View) Key() string {
	if v == nil {
		return ""
	}
	return "\x00" + strings.Join(v.names, "\x00")
}

// Instructions returns what the toolsets say to the client; "" for nothing.
func (v *View) Instructions() string {
	var all []string
	if v != nil {
		for _, s := range v.sets {
			if s.Instructions != "" {
				all = append(all, s.Instructions)
			}
		}
	}
	return strings.Join(all, "\n\n")
}

// A Reason is why one toolset hides a tool.
type Reason struct{ Toolset, Text string }

// WhyHidden returns why each toolset of the View hides a tool; nothing if the tool is shown.
func (v *View) WhyHidden(server, tool string) (all []Reason) {
	if v.ShowsTool(server, tool) {
		return nil
	}
	for _, s := range v.sets {
		all = append(all, Reason{s.Name, s.whyHidden(server, tool)})
	}
	return all
}
