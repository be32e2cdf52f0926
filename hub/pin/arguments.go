package pin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
	"mcphub/validate/names"
)

// An argument is a place in the arguments of a tool, as its input schema describes it.
type argument struct {
	pointer     string // JSON pointer (RFC 6901); "*" stands for each item or member without a name
	key         string // the last name in it
	schema      jsontext.Value
	members     map[string]jsontext.Value
	description string
}

// deepest bounds how deep schemas are followed. Below it an argument counts as one that accepts anything.
const deepest = 16

// argumentsOf returns the arguments that an input schema describes, in the order of their pointers.
func argumentsOf(schema jsontext.Value) []argument {
	all := map[string]argument{}
	w := argumentWalk{root: schema, found: all}
	w.enter("", "", schema, 0)
	delete(all, "")
	var out []argument
	for _, pointer := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[pointer])
	}
	return out
}

// An argumentWalk goes through a schema.
type argumentWalk struct {
	root  jsontext.Value
	found map[string]argument
}

func (w *argumentWalk) enter(pointer, key string, schema jsontext.Value, depth int) {
	members := membersOf(schema)
	if was, twice := w.found[pointer]; twice { // another branch describes it, too
		members = joinBranches(was.members, members)
	}
	w.found[pointer] = argument{pointer: pointer, key: key, schema: schema, members: members, description: stringOf(members["description"])}
	if depth == deepest {
		return
	}
	if target, ok := w.target(stringOf(members["$ref"])); ok {
		w.enter(pointer, key, target, depth+1)
	}
	for name, of := range membersOf(members["properties"]) {
		w.enter(pointer+"/"+escapePointer(name), name, of, depth+1)
	}
	for _, of := range membersOf(members["patternProperties"]) {
		w.enter(pointer+"/*", key, of, depth+1)
	}
	for _, word := range []string{"items", "additionalProperties", "contains"} {
		if of := members[word]; of.Kind() == '{' {
			w.enter(pointer+"/*", key, of, depth+1)
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		var branches []jsontext.Value
		_ = json.Unmarshal(members[word], &branches) // else there are none
		at := pointer
		if word == "prefixItems" {
			at += "/*"
		}
		for _, of := range branches {
			w.enter(at, key, of, depth+1)
		}
	}
}

// joinBranches joins what two schemas of one place say: where one says nothing, the other counts. What both say is kept from both.
func joinBranches(a, b map[string]jsontext.Value) map[string]jsontext.Value {
	all := maps.Clone(a)
	if all == nil {
		return b
	}
	for word, value := range b {
		had, twice := all[word]
		switch {
		case !twice:
			all[word] = value
		case !bytes.Equal(had, value):
			both := slices.Concat([]byte("["), had, []byte(","), value, []byte("]"))
			all[word] = both
		}
	}
	return all
}

// target returns the schema that a reference within the document names.
func (w *argumentWalk) target(ref string) (jsontext.Value, bool) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	at := w.root
	for step := range strings.SplitSeq(path, "/") {
		if at = membersOf(at)[unescapePointer(step)]; at == nil {
			return nil, false
		}
	}
	return at, true
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func unescapePointer(step string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
}

// urlWords, as the last word of a name, make it a URL or a place in a network.
var urlWords = chars.WordSet("url urls uri uris href link links endpoint endpoints host hosts hostname hostnames webhook webhooks proxy origin domain domains server address callback")

// describesPlace is how a description of an argument without a telling name says that it names a place.
var describesPlace = lazyregexp.New(`(?i)\b(?:file|directory|folder)s? (?:path|name)s?\b|\bpaths? (?:to|of|in|on)\b|\b(?:url|uri|webhook|shell|terminal|interpreter)s?\b|\bcommand (?:line|to (?:run|execute))\b`)

// authority returns what an argument names that gives authority: "a path", "a URL" or "a command"; "" for none. A number names nothing.
func (a *argument) authority() string {
	if !a.acceptsText() {
		return ""
	}
	var b names.Buffer
	switch class := (names.Traits{}).ClassOf(&b, a.key, a.description); class {
	case names.Path, names.Source:
		return "a path"
	case names.Shell, names.Words, names.Typed:
		return "a command"
	default:
	}
	switch format := stringOf(a.members["format"]); {
	case strings.HasPrefix(format, "ur"), strings.HasPrefix(format, "ir"), urlWords[string(b.LastWord(a.key))]:
		return "a URL"
	case strings.Contains(format, "path"):
		return "a path"
	case describesPlace.MatchString(a.description):
		return "a path, a URL or a command"
	}
	return ""
}

// acceptsText reports whether a string is among what the argument accepts.
func (a *argument) acceptsText() bool {
	kinds := a.kinds()
	return len(kinds) == 0 || slices.Contains(kinds, "string") || slices.Contains(kinds, "array") && !strings.Contains(a.pointer, "/*")
}

// kinds returns the JSON types that the argument accepts; none: any. A constant or a choice says it without "type".
func (a *argument) kinds() (kinds []string) {
	if raw := a.members["type"]; raw != nil {
		for _, text := range textsIn(raw) {
			if !slices.Contains(kinds, text) {
				kinds = append(kinds, text)
			}
		}
	}
	return kinds
}

// limits are the words of a schema that leave out values. Without one more is accepted.
var limits = []string{"pattern", "const", "enum", "format", "maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties", "minimum", "exclusiveMinimum", "multipleOf", "not", "propertyNames"}

// compareArguments compares the input schemas of a tool.
func (d *differences) compareArguments(was, now jsontext.Value) {
	if bytes.Equal(was, now) {
		return
	}
	old := map[string]argument{}
	for _, a := range argumentsOf(was) {
		old[a.pointer] = a
	}
	current := argumentsOf(now)
	stays := map[string]bool{}
	for _, a := range current {
		stays[a.pointer] = true
	}
	for _, a := range current {
		former, known := old[a.pointer]
		if !known {
			d.addArgument(a, old, stays)
			continue
		}
		d.compareArgument(former, a)
	}
	for pointer := range old {
		if !stays[pointer] {
			d.differ("its argument %s is gone", pointer)
		}
	}
	d.compareArgument(argument{members: membersOf(was)}, argument{members: membersOf(now)})
}

// addArgument reports a new argument. One that has taken the place of another with the same schema is renamed.
func (d *differences) addArgument(a argument, old map[string]argument, stays map[string]bool) {
	kind := a.authority()
	for _, pointer := range slices.Sorted(maps.Keys(old)) {
		former := old[pointer]
		if !stays[pointer] && bytes.Equal(former.schema, a.schema) && former.authority() == kind {
			d.differ("its argument %s has the name %s now", pointer, a.pointer)
			return
		}
	}
	if kind != "" {
		d.grow("its argument %s is new and names %s", a.pointer, kind)
		return
	}
	d.differ("its argument %s is new", a.pointer)
}

// compareArgument reports whether an argument accepts more than before, or names something that it did not.
func (d *differences) compareArgument(was, now argument) {
	name := "its argument " + now.pointer
	if now.pointer == "" {
		name = "the object of its arguments"
	}
	if kind := now.authority(); now.pointer != "" && kind != "" && was.authority() == "" {
		d.grow("%s names %s now", name, kind)
	}
	if more := addedKinds(was.kinds(), now.kinds()); more != "" {
		d.grow("%s accepts %s now", name, more)
	}
	if closes(was.members) && !closes(now.members) {
		d.grow("%s accepts members that it has no name for", name)
	}
	for _, word := range limits {
		had, has := was.members[word], now.members[word]
		switch {
		case had == nil || bytes.Equal(had, has):
		case has == nil:
			d.grow("%s accepts more: it has no %s any more", name, word)
		case now.authority() != "" && word != "format":
			d.grow("%s may accept more: its %s is another one", name, word)
		}
	}
}

// closes reports whether an object accepts no members without a schema.
func closes(members map[string]jsontext.Value) bool {
	return string(members["additionalProperties"]) == "false" || string(members["unevaluatedProperties"]) == "false"
}

// addedKinds returns the JSON types that are accepted now and were not before.
func addedKinds(was, now []string) string {
	if len(was) == 0 {
		return ""
	}
	if len(now) == 0 {
		return "any value"
	}
	var more []string
	for _, kind := range now {
		integer := kind == "integer" && slices.Contains(was, "number")
		if !slices.Contains(was, kind) && !integer && kind != "null" {
			more = append(more, fmt.Sprintf("%q", kind))
		}
	}
	return strings.Join(more, " and ")
}
