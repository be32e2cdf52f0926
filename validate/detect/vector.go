package detect

import (
	"strings"

	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/names"
	"mcphub/validate/shell"
	"mcphub/validate/strictjson"
)

// searchVector searches one element of args, argv, flags or a command given as an array, or such an argument given as one string.
func (d *detector) searchVector(id int32, s string, p slot) {
	if u, ok := d.inVector(id, p); ok {
		d.searchElement(id, s, u, p)
		return
	}
	if p.class == names.Shell {
		d.searchShell(id, s, p)
		return
	}
	d.searchBroad(id, s, p, false)
	if s = d.trimWhole(id, s, false); s == "" {
		return
	}
	d.keepWord(id, s, shell.Plain, p, HowShell)
	if chars.HasBlank(s) {
		d.searchShell(id, s, p)
	}
}

// A vector is an array of the words of one command, with what its program makes of them.
type vector struct {
	array int32
	shell.Usage
	skip int    // words that stand before the array's: the program
	line string // on Windows, all of them as one command
}

const maxVector = 1 << 12 // words of an array that are read as one command; each word of a longer one is a path

// inVector returns what a program makes of an element of an array. ok is false if the array is no command line.
func (d *detector) inVector(id int32, p slot) (u shell.Use, ok bool) {
	n := &d.t.Nodes[id]
	if d.t.IsMember(id) || n.Parent < 0 || d.t.Nodes[n.Parent].Kind != strictjson.Array {
		return shell.Use{}, false
	}
	if d.argv.array != n.Parent {
		d.argv = d.readVector(n.Parent, p)
	}
	at := int(n.Index) + d.argv.skip
	if at >= len(d.argv.Uses) {
		return shell.Use{}, false
	}
	return d.argv.Uses[at], true
}

// readVector reads an array by its first element, or by the program that stands beside it.
func (d *detector) readVector(array int32, p slot) vector {
	v := vector{array: array}
	var words []shell.Argument
	for c := d.t.Nodes[array].First; c > 0; c = d.t.Nodes[c].Next {
		text := ""
		if n := &d.t.Nodes[c]; n.Kind == strictjson.String && len(d.t.Whole(c)) <= chars.MaxPath {
			text = d.t.Str(c)
		}
		if words = append(words, shell.Argument{Text: text}); len(words) > maxVector || !d.work.Spend(budget.WordSteps) {
			return v
		}
	}
	if len(words) == 0 || p.class == names.Shell && (chars.HasBlank(words[0].Text) || p.key >= 0 && severalWords[d.lastWord(p.key)]) {
		return v // shell strings, one after the other
	}
	switch name := d.programBeside(p); {
	case name != "" && shell.BaseName(name) == shell.BaseName(words[0].Text):
	case name != "":
		words, v.skip = append([]shell.Argument{{Text: name}}, words...), 1
	case strings.HasPrefix(words[0].Text, "-"):
		words, v.skip = append([]shell.Argument{{Text: "unnamed"}}, words...), 1
	}
	if d.m.Windows {
		v.line = commandLine(words)
	}
	v.Usage = shell.UsageOf(words, false)
	for _, w := range words {
		if operators[w.Text] && (w.Text != ";" || v.Program != shell.Programs()["find"]) {
			v.Uses = nil // a server may hand it all to a shell
		}
	}
	return v
}

// operators, as words of their own, begin another command, or a redirection.
var operators = chars.WordSet("; & && | || > >> < 2> &>")

// severalWords are keys of several shell strings.
var severalWords = chars.WordSet("commands cmds scripts lines")

// searchElement searches a word of a command line that is given as an array.
func (d *detector) searchElement(id int32, s string, u shell.Use, p slot) {
	if d.m.Windows && d.t.Nodes[id].Index == 0 { // a program there gets one text, and so may cmd or PowerShell
		d.searchCommands(id, d.argv.line, p)
	}
	if u.Kind == shell.UseCommand && d.t.Nodes[id].Index == 0 {
		if d.argv.Here {
			d.cmd = shell.Use{Role: access.Delete}
			d.keepName(id, ".", p, false)
			d.cmd = shell.Use{}
		}
		if d.argv.Host {
			d.addFinding(Finding{Value: "/", How: HowShell, Form: FormWord, Node: id}, p)
		}
		if d.m.IsCommand(s) && d.leadsVector(id, p) {
			return
		}
	}
	d.searchURIs(id, s, p, false)
	local, ok := u.Local(s)
	if u.Kind == shell.UseShell && chars.HasBlank(s) || p.class == names.Shell && !ok && strings.ContainsAny(s, ";&|<>`$(\n") {
		d.searchCommands(id, s, p)
		return
	}
	if !ok {
		d.guardedText(id, s[min(u.At, len(s)):], p)
	}
	if !ok || local == "" {
		return
	}
	d.cmd, d.course.Lost = u, d.argv.Roams()
	defer func() { d.cmd, d.course = shell.Use{}, shell.Course{} }()
	if _, value, _ := strings.Cut(local, "="); d.isProgramWord(local, shell.Plain) && u.Known || shell.IsAssignment(local) && (d.isProgramWord(value, shell.Plain) || d.searchAssignment(id, local, p)) {
		return
	}
	if u.Kind == shell.UseMade {
		local = shell.SplitSedScript(local)
	}
	d.searchNamed(id, local, u, p)
	if u.Kind == shell.UseQuery {
		return
	}
	d.searchBroad(id, local, p, false)
	if local = d.trimWhole(id, local, false); local == "" {
		return
	}
	d.keepWord(id, local, shell.Plain, p, HowShell)
	if p.class == names.Shell {
		d.shellGlob(id, local, p)
	}
	if chars.HasBlank(local) {
		d.searchWords(id, local, u.Kind == shell.UseCode || u.Kind == shell.UseSed, p)
	}
}

// codeFlags report that the next element of an array is code.
var codeFlags = chars.WordSet("-c -lc -ic -ec -xc -cl -ce -cx -lic -ilc -e -E -S -p -r -x --command --eval --exec --execute --print eval")

// isCodeFlag reports an element that says so.
func (d *detector) isCodeFlag(id int32) bool {
	return d.t.Nodes[id].Kind == strictjson.String && len(d.t.Whole(id)) <= 16 && codeFlags[d.t.Str(id)]
}

// programBeside returns the name of the program that stands beside an array of words, "" where none does.
func (d *detector) programBeside(p slot) string {
	if p.key < 0 {
		return ""
	}
	for c, i := d.t.Nodes[d.t.Nodes[p.key].Parent].First, 0; c > 0 && i < 32; c, i = d.t.Nodes[c].Next, i+1 {
		if c == p.key || !names.ProgramWords[d.lastWord(c)] || d.t.Nodes[c].Kind != strictjson.String || len(d.t.Whole(c)) > 64 {
			continue
		}
		if name := d.t.Str(c); name != "" && !chars.HasBlank(name) {
			return name
		}
	}
	return ""
}
