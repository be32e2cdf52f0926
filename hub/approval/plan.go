package approval

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"mcphub/children/spec"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
	"mcphub/validate/access"
	"mcphub/validate/policy"
)

// This file describes what a person would be asked to allow for a call that a
// rule escalates: exactly which files or directories, or that no one may be
// asked.

// Bounds of one question: what is beyond them no one reads.
const (
	maxAskedPaths = 12
	longestAsked  = 600  // characters of one path, as it is shown
	longestArgs   = 4000 // of all arguments, if they are shown
)

// What a person may choose beside choiceDeny.
const (
	choiceCall      = "call"      // this very call, which a rule about calls asks about
	choiceFile      = "file"      // the paths that are asked about, and nothing beside them
	choiceDirectory = "directory" // the directories that they lie in
)

// A proposal is one question. Immutable.
type proposal struct {
	rule   string // that escalates the call itself, and is approved for this call alone; "" for none
	rules  []string
	args   string // shown if a rule escalates the call itself, whatever its paths; "" otherwise
	paths  []askedPath
	others []askedPath   // that the call names too, and that are open without being asked about
	offers []answerOffer // the narrower first; never empty
	plain  bool          // each path stands for one place only
}

// An answerOffer is one answer that lets the call pass, and what it opens. Immutable.
type answerOffer struct {
	choice string
	grants []offeredGrant
}

// An askedPath is one path of the call that escalates.
type askedPath struct {
	sent  string // the spelling in the arguments
	leads string
	role  access.Role
}

// An askedPlace is an askedPath with what stands there.
type askedPlace struct {
	askedPath
	info fs.FileInfo // nil if nothing does
}

// An offeredGrant is a grant that was not given yet.
type offeredGrant struct {
	policy.Grant
	info fs.FileInfo // of Path when it was looked at; nil if nothing was there
	held bool        // the kernel holds the child, and has to open it
}

// isServed reports whether the child is told about it as a root.
func (offered *offeredGrant) isServed() bool { return !offered.File }

// affectsChild reports whether it makes a difference to what the child is given: as a root,
// or as something that the kernel opens. A file that is not there yet cannot be opened
// so.
func (offered *offeredGrant) affectsChild() bool {
	return offered.isServed() || offered.held && offered.info != nil
}

// grantPlanner makes proposals of verdicts. It looks at the disk and changes nothing.
type grantPlanner struct {
	fs      guard.FS
	wide    func(dir string) bool         // too wide to be granted as a whole
	useless func(role access.Role) string // why the child could do nothing with a single file; "" if it can
	ceiling *guard.Guard                  // nil: none
	held    bool                          // the kernel holds the child to its boundary
}

// uselessFile returns why a child could do nothing with a grant of a single
// file; "" if it can.
func uselessFile(spec *spec.Spec, role access.Role) string {
	if spec.Sandbox.Confines() && role != access.Read {
		return fmt.Sprintf("the kernel holds the server %q, and to replace a file takes its directory", spec.Name)
	}
	if spec.TakesDirectories() {
		return fmt.Sprintf("the server %q takes directories only", spec.Name)
	}
	return ""
}

// proposeGrants returns what would have to be allowed for the call to pass. why is
// the reason that it can be allowed by no one, "" if it can be.
func (planner grantPlanner) proposeGrants(v *validate.Verdict, args []byte) (out *proposal, why string) {
	out = &proposal{plain: true}
	if v.Deciding == nil || v.Fired != nil && v.Fired.Paths == nil {
		if v.Fired == nil {
			return nil, "no rule says what would have to be allowed"
		}
		out.rule = v.Fired.Name
		out.rules = append(out.rules, v.Fired.Name)
		if out.args = legibleJSON(args); len([]rune(out.args)) > longestArgs {
			return nil, "its arguments are too long to be shown to a person whole"
		}
	}
	var places []askedPlace
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Decision != policy.Escalate || !slices.ContainsFunc(f.Readings, func(r validate.Reading) bool { return r.Asks }) {
			out.mentionPath(f)
			continue
		}
		if f.Rule != "" && !slices.Contains(out.rules, f.Rule) {
			out.rules = append(out.rules, f.Rule)
		}
		asked, why := planner.askedPlaces(f)
		if why != "" {
			return nil, why
		}
		out.plain = out.plain && len(f.Readings) == 1
		for _, a := range asked {
			if !slices.Contains(out.paths, a.askedPath) {
				out.paths = append(out.paths, a.askedPath)
				places = append(places, a)
			}
		}
	}
	switch {
	case len(out.paths) == 0 && out.rule == "":
		return nil, "nothing that could be allowed was found"
	case len(out.paths) == 0:
		out.offers = []answerOffer{{choice: choiceCall}}
		return out, ""
	case len(out.paths) > maxAskedPaths:
		return nil, fmt.Sprintf("the call names %d such paths, more than a person can look over (%d)", len(out.paths), maxAskedPaths)
	}
	for _, asked := range out.paths {
		if len([]rune(quoteLegible(asked.leads))) > longestAsked {
			return nil, "a path is too long to be shown to a person whole"
		}
	}
	if !slices.ContainsFunc(places, func(a askedPlace) bool { return !a.isIdle() }) {
		return nil, fmt.Sprintf("there is nothing at %s", quoteLegible(clipText(places[0].leads, 200)))
	}
	out.offers, why = planner.makeOffers(places)
	return out, why
}

// mentionPath remembers a path that nothing has to be opened for.
func (out *proposal) mentionPath(f *validate.FindingVerdict) {
	path := askedPath{sent: f.Value, leads: f.Target, role: f.Role}
	if path.leads == "" {
		path.leads = path.sent
	}
	if !slices.Contains(out.others, path) {
		out.others = append(out.others, path)
	}
}

// askedPlaces returns where one path of the call may lead, of which each has
// to be opened. why reports that one of them can be opened by no one.
func (planner grantPlanner) askedPlaces(f *validate.FindingVerdict) (list []askedPlace, why string) {
	for i := range f.Readings {
		r := &f.Readings[i]
		if !r.Asks {
			continue
		}
		place, err := guard.Resolve(planner.fs, r.Path) // what the verdict says may be its text
		if err != nil {
			return nil, fmt.Sprintf("where the path %s leads cannot be told", quoteLegible(clipText(f.Value, 200)))
		}
		info, err := planner.fs.Lstat(place.Path)
		switch {
		case err != nil:
			info = nil
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, "a link has taken the place of what was judged"
		}
		a := askedPlace{askedPath{sent: f.Value, leads: place.Path, role: f.Role}, info}
		if info == nil && !a.isIdle() {
			if _, ok := planner.findDirectory(filepath.Dir(a.leads)); !ok {
				return nil, fmt.Sprintf("the directory of %s does not exist", quoteLegible(clipText(a.leads, 200)))
			}
		}
		list = append(list, a)
	}
	return list, ""
}

// isIdle reports a place at which there is nothing, and nothing is to be made: a
// text that holds blanks or commas may stand for such a path beside the one that
// is meant.
func (asked *askedPlace) isIdle() bool { return asked.info == nil && asked.role != access.Write }

// findDirectory looks at what is to be a directory.
func (planner grantPlanner) findDirectory(path string) (info fs.FileInfo, ok bool) {
	info, err := planner.fs.Lstat(path)
	return info, err == nil && info.IsDir()
}

// makeOffers returns the answers that open all places; why reports that there is none.
func (planner grantPlanner) makeOffers(places []askedPlace) (list []answerOffer, why string) {
	var reasons []string
	for _, choice := range []struct {
		name  string
		grant func(askedPlace) (offeredGrant, string)
	}{{choiceFile, planner.grantFile}, {choiceDirectory, planner.directoryGrant}} {
		o, why := planner.makeOffer(choice.name, places, choice.grant)
		if why != "" {
			reasons = append(reasons, why)
			continue
		}
		list = append(list, o)
	}
	if len(list) == 0 {
		return nil, "nothing can be opened for it: " + strings.Join(reasons, ", and ")
	}
	return list, ""
}

// makeOffer makes one answer of the grant that each place takes; why says for which
// of them there is none. Of two grants for one path one is made.
func (planner grantPlanner) makeOffer(choice string, places []askedPlace, grant func(askedPlace) (offeredGrant, string)) (out answerOffer, why string) {
	out.choice = choice
	for _, a := range places {
		g, why := grant(a)
		if why != "" {
			return out, why
		}
		if planner.ceiling != nil {
			if _, err := planner.ceiling.Check(g.Path); err != nil {
				return out, fmt.Sprintf("%s lies outside the directories of the client's token", quoteLegible(clipText(g.Path, 200)))
			}
		}
		g.Roles = policy.Roles(a.role)
		if i := slices.IndexFunc(out.grants, func(had offeredGrant) bool { return had.Path == g.Path }); i >= 0 {
			out.grants[i].Roles |= g.Roles
			continue
		}
		out.grants = append(out.grants, g)
	}
	return out, ""
}

// grantFile returns the grant of a place alone.
func (planner grantPlanner) grantFile(a askedPlace) (g offeredGrant, why string) {
	if a.info != nil && a.info.IsDir() {
		return g, quoteLegible(clipText(a.leads, 200)) + " is a directory"
	}
	if why := planner.useless(a.role); why != "" {
		return g, why
	}
	return offeredGrant{policy.Grant{Path: a.leads, File: true}, a.info, planner.held}, ""
}

// directoryGrant returns the grant of the directory that a place lies in; of a
// directory, that of itself. If nothing is there its directory is not needed.
func (planner grantPlanner) directoryGrant(a askedPlace) (g offeredGrant, why string) {
	if a.isIdle() {
		return offeredGrant{Grant: policy.Grant{Path: a.leads, File: true}}, ""
	}
	dir := a.leads
	if a.info == nil || !a.info.IsDir() {
		dir = filepath.Dir(dir)
	}
	if planner.wide(dir) {
		return g, fmt.Sprintf("the directory %s is too wide: it is or holds the home folder, a root or what the hub protects", quoteLegible(clipText(dir, 200)))
	}
	info, ok := planner.findDirectory(dir)
	if !ok {
		return g, fmt.Sprintf("the directory %s does not exist", quoteLegible(clipText(dir, 200)))
	}
	return offeredGrant{policy.Grant{Path: dir}, info, planner.held}, ""
}

// alwaysRules returns the rules, as lines of hub.json, that would allow the call
// without a question; none if no rule could say just that. Rules are about
// directories, or about calls.
func (out *proposal) alwaysRules(child, tool string) (lines []string) {
	if strings.ContainsAny(child+tool, `*?[]{}\`) {
		return nil // of a pattern they would mean something else
	}
	who := `{ "then": "allow", "if": { "servers": [` + asciiJSON(child) + `], "tools": [` + asciiJSON(tool) + `]`
	if out.rule != "" {
		return []string{who + ` } }`}
	}
	for _, o := range out.offers {
		if o.choice != choiceDirectory {
			continue
		}
		for _, g := range o.grants {
			if g.File || !utf8.ValidString(g.Path) {
				return nil // no rule is about it alone, or hub.json cannot name it
			}
			var roles []string
			for _, r := range g.Roles.List() {
				roles = append(roles, asciiJSON(r.String()))
			}
			within := asciiJSON(strings.ReplaceAll(g.Path, "${", "$${"))
			lines = append(lines, who+`, "paths": { "roles": [`+strings.Join(roles, ", ")+`], "within": `+within+` } } }`)
		}
	}
	return lines
}

// isStillValid reports whether what a grant names can be opened by it: no link is on the way
// to it, and it is still a directory, or a file.
func (offered *offeredGrant) isStillValid(fsys guard.FS) bool {
	place, err := guard.Resolve(fsys, offered.Path)
	if err != nil || place.Path != offered.Path {
		return false
	}
	info, err := fsys.Lstat(offered.Path)
	return err == nil && info.IsDir() == !offered.File
}

// isUnchanged reports whether what a grant names is still what it was when it was
// offered: the same file, and no link on the way to it.
func (offered *offeredGrant) isUnchanged(fsys guard.FS) bool {
	place, err := guard.Resolve(fsys, offered.Path)
	if err != nil || place.Path != offered.Path {
		return false
	}
	info, err := fsys.Lstat(offered.Path)
	if offered.info == nil {
		return err != nil || info.Mode().IsRegular()
	}
	if err != nil {
		return false
	}
	if s, ok := fsys.(interface{ SameFile(a, b fs.FileInfo) bool }); ok {
		return s.SameFile(offered.info, info)
	}
	return info.Mode().Type() == offered.info.Mode().Type()
}
