package setup

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/hub/toolset"
	"mcphub/internal/spelling"
)

// ToolsetTable makes the toolsets of hub.json, and of who chooses them; nil if there are none. Load has checked them.
func ToolsetTable(f *config.File, home string) (*toolset.Table, error) {
	if len(f.Toolsets) == 0 {
		return nil, nil
	}
	t := &toolset.Table{Clients: f.Clients}
	for _, name := range slices.Sorted(maps.Keys(f.Toolsets)) {
		of := f.Toolsets[name]
		set := toolset.Set{Name: name, Servers: of.Servers, Instructions: of.Instructions, Selectable: of.Selectable}
		for _, list := range []struct {
			key  string
			from []string
			to   *[]toolset.Pattern
		}{{"tools", of.Tools, &set.Tools}, {"exclude", of.Exclude, &set.Exclude}} {
			for _, text := range list.from {
				pattern, err := toolset.ParsePattern(text, f.Names.Separator)
				if err != nil {
					return nil, errorAt(f, err.Error(), "toolsets", name, list.key)
				}
				*list.to = append(*list.to, pattern)
			}
		}
		t.Sets = append(t.Sets, set)
	}
	for _, dir := range slices.Sorted(maps.Keys(f.Projects)) {
		project := toolset.Project{Toolsets: f.Projects[dir], Dirs: []string{filepath.Clean(resolvePath(f, dir, home, false))}}
		if real, err := filepath.EvalSymlinks(project.Dirs[0]); err == nil {
			project.Dirs = append(project.Dirs, real)
		}
		t.Projects = append(t.Projects, project)
	}
	return t, nil
}

// CheckToolsets returns why --toolset of this Source names what a reading of hub.json does not have. If hub.json waits for a person
// nothing is known yet: clients see nothing of a toolset that is not there, and what it has once the person has accepted it.
func (s *Source) CheckToolsets(st *AcceptedConfig, t *toolset.Table) error {
	if st.Waiting != "" {
		return nil
	}
	return CheckToolsets(t.Names(), s.Toolsets)
}

// CheckToolsets returns why --toolset names what is not among the toolsets of hub.json.
func CheckToolsets(known, given []string) error {
	for _, name := range given {
		if slices.Contains(known, name) {
			continue
		}
		hint := ""
		switch best := spelling.Suggest(name, known); {
		case best != "":
			hint = "; did you mean " + best + "?"
		case len(known) > 0:
			hint = "; it has " + strings.Join(known, ", ")
		default:
			hint = `; add "toolsets": {"NAME": {"servers": ["SERVER"]}} to it`
		}
		return exit.UsageErrorf("--toolset: hub.json has no toolset %q%s", name, hint)
	}
	return nil
}
