package hub

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/rootsmgr"
	"mcphub/validate"
)

// This file says what a human would be asked to allow for a call that a rule
// escalates (P3, P4): exactly which directories, or that nobody may be asked.

// Bounds of one question: what is beyond them nobody reads.
const (
	mostAskedPaths = 12
	longestAsked   = 600  // characters of one path, as it is shown
	longestArgs    = 4000 // of all arguments, where they are shown
)

// A proposal is what accepting one question would open. Immutable.
type proposal struct {
	rule   string // that escalates the call itself, and is approved for this call alone; "" for none
	rules  []string
	args   string // shown where a rule escalates the call itself, whatever its paths; "" otherwise
	paths  []askedPath
	others []askedPath // that the call names too, and that are open without being asked about
	grants []offeredGrant
}

// An askedPath is one path of the call that escalates.
type askedPath struct {
	sent  string // the spelling in the arguments
	leads string
	role  validate.Role
}

// An offeredGrant is a grant that was not given yet.
type offeredGrant struct {
	validate.Grant
	dir  bool        // Path is a directory
	info fs.FileInfo // of Path when it was looked at; nil where nothing was there
}

// serves reports whether the directory is served to the child as a root.
func (g *offeredGrant) serves() bool { return g.dir && !g.File }

// planner makes proposals of verdicts. It looks at the disk and changes nothing.
type planner struct {
	fs      rootsmgr.FS
	wide    func(dir string) bool // too wide to be granted as a whole
	ceiling *rootsmgr.Guard       // nil: none
}

// propose says what would have to be allowed for the call to pass. why is the
// reason that it can be allowed by nobody, "" where it can be.
func (p planner) propose(v *validate.Verdict, args []byte) (out *proposal, why string) {
	out = &proposal{}
	if v.First == nil || v.Fired != nil && v.Fired.Paths == nil {
		if v.Fired == nil {
			return nil, "no rule says what would have to be allowed"
		}
		out.rule = v.Fired.Name
		out.rules = append(out.rules, v.Fired.Name)
		if out.args = legibleJSON(args); len([]rune(out.args)) > longestArgs {
			return nil, "its arguments are too long to be shown to a person whole"
		}
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Decision != validate.Escalate || !slices.ContainsFunc(f.Readings, func(r validate.Reading) bool { return r.Asks }) {
			out.mention(f)
			continue
		}
		if f.Rule != "" && !slices.Contains(out.rules, f.Rule) {
			out.rules = append(out.rules, f.Rule)
		}
		if why := p.finding(out, f); why != "" {
			return nil, why
		}
	}
	switch {
	case len(out.paths) == 0 && out.rule == "":
		return nil, "nothing that could be allowed was found"
	case len(out.paths) > mostAskedPaths:
		return nil, fmt.Sprintf("the call names %d such paths, more than a person can look over (%d)", len(out.paths), mostAskedPaths)
	}
	for _, asked := range out.paths {
		if len([]rune(legible(asked.leads))) > longestAsked {
			return nil, "a path is too long to be shown to a person whole"
		}
	}
	return out, ""
}

// mention notes a path that nothing has to be opened for.
func (out *proposal) mention(f *validate.Judged) {
	path := askedPath{sent: f.Value, leads: f.Leads, role: f.Role}
	if path.leads == "" {
		path.leads = path.sent
	}
	if !slices.Contains(out.others, path) {
		out.others = append(out.others, path)
	}
}

// finding adds what one path needs. Readings of it that exist come first: the
// others are often within what those open.
func (p planner) finding(out *proposal, f *validate.Judged) (why string) {
	var missing []string
	found := false
	for i := range f.Readings {
		r := &f.Readings[i]
		if !r.Asks {
			continue
		}
		place, err := rootsmgr.Resolve(p.fs, r.Path) // what the verdict says may be its text
		if err != nil {
			return fmt.Sprintf("where the path %s leads cannot be told", legible(clip(f.Value, 200)))
		}
		info, err := p.fs.Lstat(place.Path)
		if err != nil {
			missing = append(missing, place.Path)
			continue
		}
		found = true
		if why := p.exists(out, f, place.Path, info); why != "" {
			return why
		}
	}
	for _, path := range missing {
		if covered(out.grants, path, f.Role) {
			continue
		}
		if f.Role != validate.RoleWrite {
			if found {
				continue // judged again, it has to be open all the same
			}
			return fmt.Sprintf("there is nothing at %s", legible(clip(path, 200)))
		}
		dir := filepath.Dir(path)
		if info, err := p.fs.Lstat(dir); err != nil || !info.IsDir() {
			return fmt.Sprintf("the directory of %s does not exist", legible(clip(path, 200)))
		}
		if why := p.containing(out, f, path, nil); why != "" {
			return why
		}
	}
	return ""
}

// exists adds a path that something stands at.
func (p planner) exists(out *proposal, f *validate.Judged, path string, info fs.FileInfo) (why string) {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return "a link has taken the place of what was judged"
	case !info.IsDir():
		return p.containing(out, f, path, info)
	case !p.wide(path):
		return p.add(out, f, path, validate.Grant{Path: path, Roles: validate.Roles(f.Role)}, true, info)
	case f.Role != validate.RoleRead:
		return fmt.Sprintf("the directory %s holds what is in scope, the home folder or what the hub protects, and to %s it would reach all of that", legible(clip(path, 200)), f.Role)
	}
	return p.add(out, f, path, validate.Grant{Path: path, File: true, Roles: validate.Roles(f.Role)}, true, info)
}

// containing adds a file, by its directory where that may be opened as a whole.
func (p planner) containing(out *proposal, f *validate.Judged, path string, info fs.FileInfo) (why string) {
	dir := filepath.Dir(path)
	if p.wide(dir) {
		return p.add(out, f, path, validate.Grant{Path: path, File: true, Roles: validate.Roles(f.Role)}, false, info)
	}
	at, err := p.fs.Lstat(dir)
	if err != nil || !at.IsDir() {
		return fmt.Sprintf("the directory of %s cannot be looked at", legible(clip(path, 200)))
	}
	return p.add(out, f, path, validate.Grant{Path: dir, Roles: validate.Roles(f.Role)}, true, at)
}

// add enters a path and the grant that it needs; of two for one directory one
// is made.
func (p planner) add(out *proposal, f *validate.Judged, path string, g validate.Grant, dir bool, info fs.FileInfo) (why string) {
	if p.ceiling != nil {
		if _, err := p.ceiling.Check(g.Path); err != nil {
			return fmt.Sprintf("%s lies outside the directories of the client's token", legible(clip(g.Path, 200)))
		}
	}
	asked := askedPath{sent: f.Value, leads: path, role: f.Role}
	if !slices.Contains(out.paths, asked) {
		out.paths = append(out.paths, asked)
	}
	for i := range out.grants {
		if had := &out.grants[i]; had.Path == g.Path && had.File == g.File {
			had.Roles |= g.Roles
			return ""
		}
	}
	out.grants = append(out.grants, offeredGrant{g, dir, info})
	return ""
}

// covered reports whether grants open a path for a role.
func covered(grants []offeredGrant, path string, role validate.Role) bool {
	return slices.ContainsFunc(grants, func(g offeredGrant) bool {
		return g.Roles.Has(role) && (g.Path == path || !g.File && strings.HasPrefix(path, g.Path+string(filepath.Separator)))
	})
}

// unchanged reports whether what a grant names is still what it was when it was
// offered: the same file, and no link on the way to it.
func (g *offeredGrant) unchanged(fsys rootsmgr.FS) bool {
	place, err := rootsmgr.Resolve(fsys, g.Path)
	if err != nil || place.Path != g.Path {
		return false
	}
	info, err := fsys.Lstat(g.Path)
	if g.info == nil {
		return err != nil || info.Mode().IsRegular()
	}
	if err != nil {
		return false
	}
	if s, ok := fsys.(interface{ SameFile(a, b fs.FileInfo) bool }); ok {
		return s.SameFile(g.info, info)
	}
	return info.Mode().Type() == g.info.Mode().Type()
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
