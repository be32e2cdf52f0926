package detect

import (
	"slices"
	"strings"

	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/names"
	"mcphub/validate/schema"
	"mcphub/validate/shell"
	"mcphub/validate/strictjson"
)

// How a string was recognised. The values are stable: audit lines and explain print them.
const (
	HowDeclared = declare.ByOperator // in hub.json
	HowProfile  = declare.ByProfile  // the built-in profile of the server
	HowKey      = "key"              // the name of the argument
	HowDefault  = "default"          // the schema's default for an argument that is absent
	HowHeader   = "header"           // the header of a patch
	HowMember   = "member"           // a member name below a path-like key, or one that is a path itself
	HowAbsolute = "absolute"         // from the root
	HowHome     = "home"             // ~, ~user, $HOME
	HowDrive    = "drive"            // C:\x
	HowUNC      = "unc"              // \\host\share
	HowClimbs   = "climbs"           // a ".." segment
	HowFileURI  = "file-uri"         // a file: URI, whole or inside other text
	HowScheme   = "scheme"           // sqlite:, unix:, jar:, vscode://file ...
	HowTail     = "tail"             // after "=", "@", a ref's colon or a short flag
	HowList     = "list"             // one part of a joined list
	HowShell    = "shell"            // a word of a shell string
	HowLiteral  = "literal"          // a word inside a longer string
	HowLink     = "link"             // a relative name that a symlink leads out, or of something protected
	HowURI      = "uri"              // the URI of a resource
	HowResource = "resource"         // a URI of a scheme that has prefixes
)

// Finding is one string, or part of one, that was taken for a path.
type Finding struct {
	Pointer string // RFC 6901, through strings that hold JSON
	Raw     string // the whole string as sent, decoded from JSON, at most 4 KiB of it
	Value   string // the part of it that is a path
	Role    access.Role
	How     string // one of the How constants
	Member  bool   // it is a member name, not a value
	Base    string // pointer of the argument it starts from, "" unless declared
	BaseDir string // the value found there

	Form       Form
	Alts       []string     // other spellings of the text: untrimmed, or if a scheme is ambiguous
	Node       int32        // where it was found
	Rewritable Rewritable   // of the whole string, if it may have to be rewritten
	Context    bool         // the argument names the directory that a tool works in, not what it works on (cwd, projectRoot)
	Assumed    bool         // the role is only guessed
	Content    bool         // a lenient reading takes what is written in the string, such as a list
	Written    bool         // it stands after a redirection
	MustExist  bool         // it counts only if something exists there
	InShell    bool         // it is a word of a command
	Operand    bool         // it is a word that a program gets: of a command, an argument vector or SQL
	Makes      bool         // it names something that need not exist yet
	Text       bool         // it is certainly no path: only what is protected counts
	Typed      bool         // it is a word of a text for a running program, which may work anywhere below
	Goes       bool         // a typed text goes there, and perhaps only the running program can determine where that is
	Runs       bool         // it stands in the place of the program of a command: it is run, not read or written
	Course     shell.Course // where cd went before it, in a shell string
	Glob       string       // the pattern, if it is one of a shell
	Instead    string       // the text before an absolute tail; the tail counts only if no relative path begins with that text
	Uncut      string       // the path from which an escape may have cut the value; the value counts only if that path does not lie inside
	Declare    string       // pointer with stars, for the line that would declare it
}

// Form is how a value has to be read.
type Form uint8

const (
	FormPath    Form = iota
	FormURI          // a file: URI
	FormWord         // a word: counts only if it leads outside, and exists or could be created
	FormLiteral      // a word of a longer string: counts only if it names something outside
	FormText         // a file: URI in a longer string: likewise, and one component is enough
	FormLink         // a relative name: counts only if a symlink leads it outside
	FormName         // a name without a slash: counts only if it is such a symlink itself, protected, or in a rule's directory
	FormGlob         // a pattern of a shell string: counts only if it matches such a symlink
)

// Does returns in words what the call does with the path. A word of a command that is neither written to nor made is read.
// If nothing shows what a tool does, it may read or write.
func (f *Finding) Does() string {
	switch {
	case f.Role != access.Write || f.Written || f.Makes:
	case f.InShell:
		return "read"
	case f.Assumed:
		return "read or write"
	}
	return f.Role.String()
}

// Conditional reports whether the finding counts only under a condition that the judge looks up.
func (f *Finding) Conditional() bool { return f.Form >= FormWord }

// Relative reports a finding that counts only for the symlink on its way.
func (f *Finding) Relative() bool { return f.Form >= FormLink }

// Plausible reports whether the string may be no path after all, so that a declaration is worth suggesting.
func (f *Finding) Plausible() bool {
	switch f.How {
	case HowDeclared, HowProfile, HowFileURI, HowURI, HowScheme, HowDefault:
		return false
	}
	return !strings.HasPrefix(strings.TrimSpace(f.Raw), "-")
}

// Rewritable is a string that may have to be rewritten: a whole value that a declaration, a profile or its name makes a path,
// and not inside JSON in a string. The zero value is none.
type Rewritable struct {
	Start, End int32 // bytes of the arguments, quotes included
	Single     bool  // nothing else in it is a path: it is no list
}

func (d *detector) rewritableOf(id int32, how string, member bool) Rewritable {
	if !d.tool.Rewrites || member || d.t.InString(id) || how != HowDeclared && how != HowProfile && how != HowKey {
		return Rewritable{}
	}
	start, end := d.t.Span(id)
	return Rewritable{Start: start, End: end}
}

// seen is the key by which two findings of one string count as the same.
type seen struct {
	value                      string
	role                       access.Role
	written, makes, weak, runs bool
	plain, typed               bool
	uri, text, glob            bool
	course                     shell.Course
}

// addFinding completes a finding and keeps it, once for each string and value.
func (d *detector) addFinding(f Finding, p slot) {
	d.setOrigin(f.Node, f.Member)
	if f.Conditional() && d.course != (shell.Course{}) {
		f.Course = d.course
	}
	role := access.None
	if !f.Member {
		role = d.cmd.Role
	}
	f.Makes = f.Written || d.writes || d.cmd.Role == access.Write
	key := seen{f.Value, role, f.Written, f.Makes, f.MustExist, f.Runs, f.Text, d.typed, f.Form == FormURI, f.Form == FormText, f.Form == FormGlob, f.Course}
	// A name that may be a link does not stand for the same text as a path.
	before, again := d.at.seen[key]
	if again && (before || f.Relative()) {
		return
	}
	if !d.work.Spend(budget.FindSteps) {
		return
	}
	if d.at.seen == nil {
		d.at.seen = make(map[seen]bool, 1)
	}
	d.at.seen[key] = !f.Relative()
	if d.tool.URI {
		f.How = HowURI
	}
	f.Raw, f.Pointer, f.Declare = d.at.raw, d.at.pointer, d.at.declare
	if r := p.rule; r != nil && r.Role != access.None && !f.Member {
		f.Role = r.Role
		if r.Base != "" {
			f.Base = declare.BaseFor(r.Base, f.Pointer)
			if at := d.t.Lookup(f.Base); at >= 0 && d.t.Nodes[at].Kind == strictjson.String {
				f.BaseDir = d.t.Str(at)
			}
		}
	} else {
		f.Role = d.roleOf(p.key)
		f.Assumed = !d.tool.Traits.Known || f.How != HowKey && f.How != HowMember && f.How != schema.HowFormat
	}
	f.InShell, f.Typed = d.inShell, d.typed
	if role != access.None {
		f.Role, f.Assumed = role, false
	}
	f.Operand = f.InShell || p.class == names.Words || p.class == names.Shell || p.class == names.Query
	if f.Relative() && !d.at.member {
		f.Runs = f.Runs || d.isProgram(f.Node, p)
	}
	f.Content = p.place.IsContent() && !f.Member
	f.Context = p.key >= 0 && !f.Member && names.IsContext(d.keys, d.t.Name(p.key))
	d.findings = append(d.findings, f)
}

// isProgram reports a string that names what is to be run: the first element of argv or of a command given as an array,
// unless the program stands beside it, or a key that says so. The elements of args are what a program is given.
func (d *detector) isProgram(id int32, p slot) bool {
	if d.inWords {
		return false // it is part of a command line, whose first word is the program
	}
	if !d.t.IsMember(id) && d.t.Nodes[d.t.Nodes[id].Parent].Kind == strictjson.Array {
		return d.leadsVector(id, p)
	}
	return p.key >= 0 && names.ProgramWords[d.lastWord(p.key)]
}

// leadsVector reports an element of an array that is the program itself.
func (d *detector) leadsVector(id int32, p slot) bool {
	if d.t.IsMember(id) || d.t.Nodes[id].Index != 0 || p.key < 0 || p.class != names.Shell && d.lastWord(p.key) != "argv" {
		return false
	}
	return !slices.ContainsFunc(d.programsOf(d.t.Nodes[p.key].Parent), func(c int32) bool { return c != p.key })
}

// programsOf returns the first two members of an object whose names report that they
// name a program. They are looked for once: an object may hold many arrays.
func (d *detector) programsOf(object int32) []int32 {
	if d.programs.list == nil || d.programs.object != object {
		d.programs.object, d.programs.list = object, make([]int32, 0, 2)
		for c := d.t.Nodes[object].First; c > 0 && len(d.programs.list) < 2; c = d.t.Nodes[c].Next {
			if d.t.Nodes[c].Kind == strictjson.String && d.t.IsMember(c) && names.ProgramWords[d.lastWord(c)] {
				d.programs.list = append(d.programs.list, c)
			}
		}
	}
	return d.programs.list
}

// setOrigin makes a string the one that findings come from.
func (d *detector) setOrigin(id int32, member bool) {
	if d.at.pointer != "" && d.at.id == id && d.at.member == member {
		return
	}
	raw := ""
	if member {
		raw = d.t.Name(id)
	} else {
		raw = d.t.Str(id)
	}
	d.at = source{id: id, member: member, raw: strings.Clone(chars.Clip(raw, MaxRaw)), pointer: d.t.Pointer(id), declare: d.t.Starred(id)}
}

func (d *detector) roleOf(key int32) access.Role {
	if key < 0 {
		return d.tool.Traits.Role
	}
	if d.roleSeen != access.None && d.roleKey == key {
		return d.roleSeen
	}
	d.roleKey, d.roleSeen = key, d.tool.Traits.RoleOf(d.keys, d.t.Name(key))
	return d.roleSeen
}
