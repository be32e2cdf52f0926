package toolset

import (
	"fmt"
	"slices"
	"strings"

	"mcphub/validate/policy"
)

// A Set is one toolset of hub.json. The zero value shows nothing.
type Set struct {
	Name         string
	Servers      []string  // of which it has everything
	Tools        []Pattern // of other servers it has these tools, and nothing else
	Exclude      []Pattern // tools and prompts that it does not have
	Instructions string    // for the clients that have it
	Selectable   bool      // a file in a project may choose it
}

// A Pattern is a pattern of the names that tools and prompts have.
type Pattern struct {
	Server string // pattern of servers
	Name   string // pattern of the server's own names
}

// ParsePattern reads SERVER__NAME, as clients see names: the first separator ends the pattern of the servers. Server names hold no separator.
func ParsePattern(text, separator string) (Pattern, error) {
	server, name, ok := strings.Cut(text, separator)
	p := Pattern{server, name}
	if !ok || server == "" || name == "" {
		return Pattern{}, fmt.Errorf("it does not read SERVER%sTOOL", separator)
	}
	for _, half := range []string{server, name} {
		if _, err := policy.MatchName(half, ""); err != nil {
			return Pattern{}, fmt.Errorf("%q is no pattern", half)
		}
	}
	return p, nil
}

// FitsServer reports whether some name of a server may fit.
func (p *Pattern) FitsServer(server string) bool { return matchesPattern(p.Server, server) }

func (p *Pattern) matches(server, name string) bool {
	return p.FitsServer(server) && matchesPattern(p.Name, name)
}

func matchesPattern(pattern, name string) bool {
	ok, err := policy.MatchName(pattern, name)
	return ok && err == nil
}

func anyMatches(all []Pattern, server, name string) bool {
	return slices.ContainsFunc(all, func(p Pattern) bool { return p.matches(server, name) })
}

func (s *Set) showsServer(server string) bool {
	return s.showsWhole(server) || slices.ContainsFunc(s.Tools, func(p Pattern) bool { return p.FitsServer(server) })
}

func (s *Set) showsWhole(server string) bool { return slices.Contains(s.Servers, server) }

func (s *Set) showsTool(server, tool string) bool {
	return (s.showsWhole(server) || anyMatches(s.Tools, server, tool)) && !anyMatches(s.Exclude, server, tool)
}

// whyHidden returns in words why a tool is not in the Set; "" if it is.
func (s *Set) whyHidden(server, tool string) string {
	switch {
	case s.showsTool(server, tool):
		return ""
	case anyMatches(s.Exclude, server, tool):
		return `"exclude" fits the tool: take that pattern out, and it is shown`
	case s.showsServer(server):
		return `no pattern of "tools" fits the tool: add one that does`
	}
	return `it names the server neither in "servers" nor in "tools": add it to one of them`
}
