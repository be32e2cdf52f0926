package pin

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/validate/names"
)

// A Change is a difference between what was accepted and what a server defines now.
type Change struct {
	Of    string `json:"of"`   // program, tool, prompt, resource, resource template or instructions
	Name  string `json:"name"` // as the server calls it now; "" of instructions
	Grows bool   `json:"grows"`
	What  string `json:"what"` // the difference, for people
}

// Text returns a line for people.
func (c Change) Text() string {
	return c.thing().String() + ": " + printable.Escape(c.What, 300)
}

func (c Change) thing() Thing { return Thing{c.Of, c.Name} }

// Compare returns how a server differs from what was accepted of it, in the order of kinds and names.
func Compare(was, now *Server) []Change {
	var d differences
	d.comparePrograms(was, now)
	d.compareTools(was, now)
	lists := now.all()
	for i, list := range was.all()[1:] {
		d.of = nouns[list.kind]
		d.compareTexts(*list.definitions, *lists[i+1].definitions, now)
	}
	d.of, d.name = Instructions.Of, Instructions.Name
	if _, varies := was.Varies[variesInstructions]; !varies {
		if was.Instructions != now.Instructions {
			d.compareProse([]string{was.Instructions}, []string{now.Instructions}, "the text reads differently")
		}
		d.findMaskedOrders(now)
	}
	return d.changes
}

// differences collects Changes. of and name are what is compared at the moment.
type differences struct {
	changes  []Change
	of, name string
}

func (d *differences) grow(format string, args ...any) {
	d.changes = append(d.changes, Change{d.of, d.name, true, fmt.Sprintf(format, args...)})
}

func (d *differences) differ(format string, args ...any) {
	d.changes = append(d.changes, Change{d.of, d.name, false, fmt.Sprintf(format, args...)})
}

// comparePrograms reports that a server runs from other files. What is not known of one of the two is not compared.
func (d *differences) comparePrograms(was, now *Server) {
	d.of = "program"
	switch {
	case was.Package != "" && now.Package != "" && was.Package != now.Package:
		d.differ("it is %s, and was %s", printable.Escape(now.Package, 100), printable.Escape(was.Package, 100))
	case was.Digest != "" && now.Digest != "" && was.Digest != now.Digest:
		d.differ("its files are others")
	}
}

// compareTools compares the tools of a server. One that is gone and one that is new are taken for the same if they
// differ by their name alone.
func (d *differences) compareTools(was, now *Server) {
	d.of = "tool"
	former := renamedTools(was.Tools, now.Tools)
	for _, d.name = range slices.Sorted(maps.Keys(now.Tools)) {
		old, known := was.Tools[d.name]
		name := d.name
		if !known && former[d.name] != "" {
			name = former[d.name]
			old, known = was.Tools[name], true
			d.differ("the server called it %s before", printable.Quote(name))
			d.compareNames(name, old, now.Tools[d.name])
		}
		if !known {
			d.addTool(now.Tools[d.name])
			d.findMaskedOrders(now)
			continue
		}
		d.compareTool(old, now.Tools[d.name], was.Varies[variesTools+name])
		d.findMaskedOrders(now)
	}
	renamed := map[string]bool{}
	for _, old := range former {
		renamed[old] = true
	}
	for _, d.name = range slices.Sorted(maps.Keys(was.Tools)) {
		if _, stays := now.Tools[d.name]; !stays && !renamed[d.name] {
			d.differ("it is gone")
		}
	}
}

// renamedTools returns the former name of each tool that has another one now, and differs by that alone.
func renamedTools(was, now Definitions) (former map[string]string) {
	content := func(def jsontext.Value) string { return string(without(def, []string{"name"})) }
	gone := map[string][]string{} // names, by what else there was
	for _, old := range slices.Sorted(maps.Keys(was)) {
		if _, stays := now[old]; !stays {
			key := content(was[old])
			gone[key] = append(gone[key], old)
		}
	}
	former = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, known := was[name]; known {
			continue
		}
		key := content(now[name])
		if names := gone[key]; len(names) > 0 {
			former[name], gone[key] = names[0], names[1:]
		}
	}
	return former
}

// traitsOf returns what the name and the hints of a tool promise.
func traitsOf(name string, def jsontext.Value) names.Traits {
	hints := hintsOf(def)
	return names.TraitsOf(name, hints["readOnlyHint"] == "true", hints["destructiveHint"] == "true")
}

// compareNames reports a name that stands for more than the former name did.
func (d *differences) compareNames(former string, was, now jsontext.Value) {
	if traitsOf(d.name, now).Role > traitsOf(former, was).Role {
		d.grow("its name stands for more than the former name %s did", printable.Quote(former))
	}
}

// addTool reports a new tool.
func (d *differences) addTool(def jsontext.Value) {
	before := len(d.changes)
	members := membersOf(def)
	arguments, whole := argumentsOf(members["inputSchema"])
	if !whole {
		d.grow("the tool is new, and its arguments are described in a way that cannot be read whole")
	}
	for _, a := range arguments {
		if kind := a.mayGiveAuthority(); kind != "" {
			d.grow("the tool is new, and its argument %s names %s", a.pointer, kind)
		}
	}
	if hintsOf(def)["readOnlyHint"] != "true" {
		d.grow("the tool is new, and does not promise that it only reads")
	}
	d.compareProse(nil, textsIn(def), "")
	if len(d.changes) == before {
		d.differ("the tool is new, and only reads")
	}
}

// compareTool compares two definitions of one tool, but for the members that vary.
func (d *differences) compareTool(was, now jsontext.Value, varies []string) {
	if bytes.Equal(was, now) {
		return
	}
	before := len(d.changes)
	d.compareHints(hintsOf(was), hintsOf(now))
	a, b := membersOf(was), membersOf(now)
	d.compareArguments(a["inputSchema"], b["inputSchema"])
	d.compareProse(textsIn(was), textsIn(now), "") // what varies may tell a model no more than before
	for _, member := range slices.Sorted(maps.Keys(union(a, b))) {
		if !bytes.Equal(a[member], b[member]) && member != "name" && !slices.Contains(varies, member) && (member != "inputSchema" || len(d.changes) == before) {
			d.differ("its %s reads differently", printable.Escape(member, 50))
		}
	}
}

func union[V any](a, b map[string]V) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// promises are the hints of a tool, with what they are if a server gives none, and the value that promises more (spec, ToolAnnotations).
var promises = []struct{ hint, absent, more string }{
	{"readOnlyHint", "false", "true"}, {"destructiveHint", "true", "false"}, {"idempotentHint", "false", "true"}, {"openWorldHint", "true", "false"},
}

// hintsOf returns the hints of a definition as they are written.
func hintsOf(def jsontext.Value) map[string]string {
	hints := map[string]string{}
	for name, value := range membersOf(membersOf(def)["annotations"]) {
		hints[name] = string(value)
	}
	return hints
}

// compareHints compares what tools promise. A tool that has promised only to read has promised more than to destroy nothing, and more than to
// change nothing if it is called again (spec, ToolAnnotations).
func (d *differences) compareHints(was, now map[string]string) {
	for _, p := range promises {
		if was["readOnlyHint"] == "true" && (p.hint == "destructiveHint" || p.hint == "idempotentHint") {
			continue
		}
		had, has := p.absent, p.absent
		if v, given := was[p.hint]; given {
			had = v
		}
		if v, given := now[p.hint]; given {
			has = v
		}
		if has == p.more && had != p.more {
			d.grow("its hint %s is %s now and promises more", p.hint, has)
		}
	}
}

// compareTexts compares prompts, resources and templates: what they are called, and what stands in them.
func (d *differences) compareTexts(was, now Definitions, of *Server) {
	for _, d.name = range slices.Sorted(maps.Keys(union(was, now))) {
		old, had := was[d.name]
		def, has := now[d.name]
		switch {
		case !has:
			d.differ("it is gone")
		case !had:
			before := len(d.changes)
			d.compareProse(nil, textsIn(def), "")
			if len(d.changes) == before {
				d.differ("it is new")
			}
		case !bytes.Equal(old, def):
			d.compareProse(textsIn(old), textsIn(def), "its definition reads differently")
		}
		d.findMaskedOrders(of)
	}
}

// textsIn returns all strings of a definition, names of members too, in their order.
func textsIn(def jsontext.Value) (texts []string) {
	in := jsontext.NewDecoder(bytes.NewReader(def))
	for {
		token, err := in.ReadToken()
		if err != nil {
			return texts
		}
		if token.Kind() == '"' {
			texts = append(texts, token.String())
		}
	}
}

// stringOf returns a JSON string; "" for what is none.
func stringOf(raw jsontext.Value) string {
	text, _ := jsonrpc.String(raw)
	return text
}

// quoteAll quotes words for people.
func quoteAll(words []string) string {
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, printable.Quote(w))
	}
	return strings.Join(quoted, ", ")
}
