package toolset

import (
	"path/filepath"
	"slices"
	"strings"
)

// A Table is all that hub.json says about toolsets. It is immutable; the nil Table has none.
type Table struct {
	Sets     []Set               // by name
	Clients  map[string][]string // names of toolsets, by the name that a client gives itself
	Projects []Project
	Choice   *Project // what a file in a project chooses for the sessions of that project; nil: nothing
}

// A Project is a folder whose sessions have some toolsets, if they come from a client on this machine that was started in that folder or below it.
type Project struct {
	Dirs     []string // the folder in every spelling, absolute
	Toolsets []string
}

// A Claim is what is known of a session. The zero value is a session that nothing is said about.
type Claim struct {
	Bound  []string // toolsets that the token may have; nil: any
	Flag   []string // what --toolset says; nil: nothing
	URL    string   // NAME of /mcp/NAME; "": none
	Client string   // how the client calls itself: no authority
	Dirs   []string // the folder that the client was started in, in every spelling; none of a client over HTTP
}

// IsZero reports whether nothing is said.
func (c *Claim) IsZero() bool {
	return c.Bound == nil && c.Flag == nil && c.URL == "" && c.Client == "" && len(c.Dirs) == 0
}

// Owner tells apart the Claims that requests of one token may have.
func (c *Claim) Owner() string {
	if c.URL == "" && c.Client == "" {
		return ""
	}
	return c.URL + "\x00" + c.Client
}

// IsName reports whether a toolset may be called so: a URL, a flag and hub.json name it alike.
func IsName(name string) bool {
	return name != "" && len(name) <= longestName && strings.Trim(name, signs) == "" && strings.Trim(name, ".") != ""
}

const (
	longestName = 64
	signs       = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
)

// HasSets reports whether there are toolsets.
func (t *Table) HasSets() bool { return t != nil && len(t.Sets) > 0 }

// Names returns the names of all toolsets, in order.
func (t *Table) Names() (all []string) {
	if t != nil {
		for i := range t.Sets {
			all = append(all, t.Sets[i].Name)
		}
	}
	return all
}

// HasClients reports whether the name of a client may choose.
func (t *Table) HasClients() bool { return t != nil && len(t.Clients) > 0 }

// NamesClient reports whether a client that calls itself so has toolsets of its own.
func (t *Table) NamesClient(name string) bool { return t != nil && t.Clients[name] != nil }

// ViewOf returns what a session sees of which c is known; nil: everything.
func (t *Table) ViewOf(c *Claim) *View {
	if c.IsZero() {
		return nil
	}
	bound, bounded := c.Bound, c.Bound != nil
	if c.Flag != nil {
		if bounded {
			bound = slices.DeleteFunc(slices.Clone(bound), func(name string) bool { return !slices.Contains(c.Flag, name) })
		} else {
			bound, bounded = c.Flag, true
		}
	}
	chosen := t.chosenBy(c)
	if chosen == nil && !bounded {
		return nil
	}
	v := &View{}
	if t == nil {
		return v
	}
	for i := range t.Sets {
		name := t.Sets[i].Name
		if (chosen == nil || slices.Contains(chosen, name)) && (!bounded || slices.Contains(bound, name)) {
			v.sets, v.names = append(v.sets, &t.Sets[i]), append(v.names, name)
		}
	}
	return v
}

// chosenBy returns the toolsets that are chosen within the bound; nil: nothing chooses.
func (t *Table) chosenBy(c *Claim) (chosen []string) {
	switch {
	case c.URL != "":
		return []string{c.URL}
	case c.Flag != nil || t == nil:
		return nil
	}
	chosen = t.Clients[c.Client]
	for i := range t.Projects {
		if p := &t.Projects[i]; p.holdsFolder(c.Dirs) {
			chosen = append(slices.Clip(chosen), p.Toolsets...)
		}
	}
	return t.narrowByChoice(chosen, c.Dirs)
}

// narrowByChoice returns the chosen toolsets that Choice names too; chosen nil: all toolsets are chosen. A toolset counts only if it is
// selectable. If none is left, Choice names nothing that the session may have, and does not count.
func (t *Table) narrowByChoice(chosen, dirs []string) (left []string) {
	if t.Choice == nil || !t.Choice.holdsFolder(dirs) {
		return chosen
	}
	for i := range t.Sets {
		s := &t.Sets[i]
		if s.Selectable && slices.Contains(t.Choice.Toolsets, s.Name) && (chosen == nil || slices.Contains(chosen, s.Name)) {
			left = append(left, s.Name)
		}
	}
	if left == nil {
		return chosen
	}
	return left
}

// HasSelectable reports whether a file in a project may choose.
func (t *Table) HasSelectable() bool {
	return t != nil && slices.ContainsFunc(t.Sets, func(s Set) bool { return s.Selectable })
}

// holdsFolder reports whether one of some spellings of a folder is the project's or lies below it.
func (p *Project) holdsFolder(dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return slices.ContainsFunc(p.Dirs, func(project string) bool {
			below, err := filepath.Rel(project, dir)
			return err == nil && filepath.IsLocal(below)
		})
	})
}
