package validate

import (
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

// seen is what two findings of one string are the same by.
type seen struct {
	value               string
	written, weak, runs bool
	uri, text, glob     bool
	course              shell.Course
}

// add completes a finding and keeps it, once for each string and value.
func (d *detector) add(f Finding, p place) {
	d.from(f.node, f.Member)
	if f.Conditional() && d.course != (shell.Course{}) {
		f.course = d.course
	}
	key := seen{f.Value, f.written, f.weak, f.runs, f.form == formURI, f.form == formText, f.form == formGlob, f.course}
	// A name that may be a link does not stand for the same text as a path.
	before, again := d.at.seen[key]
	if again && (before || f.relative()) {
		return
	}
	if !d.work.Spend(budget.FindSteps) {
		return
	}
	if d.at.seen == nil {
		d.at.seen = make(map[seen]bool, 1)
	}
	d.at.seen[key] = !f.relative()
	if d.tool.uri {
		f.How = HowURI
	}
	f.Raw, f.Pointer, f.declare = d.at.raw, d.at.pointer, d.at.declare
	if r := p.rule; r != nil && r.Role != access.None && !f.Member {
		f.Role = r.Role
		if r.Base != "" {
			f.Base = declare.BaseFor(r.Base, f.Pointer)
			if at := d.t.Lookup(f.Base); at >= 0 && d.t.Nodes[at].Kind == strictjson.String {
				f.BaseDir = d.t.Str(at)
			}
		}
	} else {
		f.Role = d.role(p.key)
		f.assumed = !d.tool.traits.Known || f.How != HowKey && f.How != HowMember && f.How != schema.HowFormat
	}
	f.inShell = d.inShell
	if d.cmd.Role != access.None && !f.Member {
		f.Role, f.assumed = d.cmd.Role, false
	}
	f.operand = f.inShell || p.class == names.Words || p.class == names.Query
	f.makes = f.written || d.writes || d.cmd.Role == access.Write
	if f.relative() && !d.at.member {
		f.runs = f.runs || d.isProgram(f.node, p)
	}
	f.context = p.key >= 0 && !f.Member && names.IsContext(d.keys, d.t.Name(p.key))
	d.findings = append(d.findings, f)
}

// isProgram reports a string that names what is to be run: the first element of argv or of a command given as an array,
// unless the program stands beside it, or a key that says so. The elements of args are what a program is given.
func (d *detector) isProgram(id int32, p place) bool {
	if d.inWords {
		return false // of a command line; its command word says so itself
	}
	n := &d.t.Nodes[id]
	if !d.t.IsMember(id) && d.t.Nodes[n.Parent].Kind == strictjson.Array {
		return d.leadsVector(id, p)
	}
	return p.key >= 0 && names.ProgramWords[d.lastWord(p.key)]
}

// leadsVector reports an element of an array that is the program itself.
func (d *detector) leadsVector(id int32, p place) bool {
	n := &d.t.Nodes[id]
	if d.t.IsMember(id) || n.Index != 0 || p.key < 0 || p.class != names.Shell && d.lastWord(p.key) != "argv" {
		return false
	}
	for c := d.t.Nodes[d.t.Nodes[p.key].Parent].First; c > 0; c = d.t.Nodes[c].Next {
		if c != p.key && d.t.Nodes[c].Kind == strictjson.String && d.t.IsMember(c) && names.ProgramWords[d.lastWord(c)] {
			return false
		}
	}
	return true
}

// from makes a string the one that findings come from.
func (d *detector) from(id int32, member bool) {
	if d.at.pointer != "" && d.at.id == id && d.at.member == member {
		return
	}
	raw := ""
	if member {
		raw = d.t.Name(id)
	} else {
		raw = d.t.Str(id)
	}
	d.at = source{id: id, member: member, raw: strings.Clone(chars.Clip(raw, maxRaw)), pointer: d.t.Pointer(id), declare: d.t.Starred(id)}
}

func (d *detector) role(key int32) access.Role {
	if key < 0 {
		return d.tool.traits.Role
	}
	if d.roleSeen != access.None && d.roleKey == key {
		return d.roleSeen
	}
	d.roleKey, d.roleSeen = key, d.tool.traits.RoleOf(d.keys, d.t.Name(key))
	return d.roleSeen
}
