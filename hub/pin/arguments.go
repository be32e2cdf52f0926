package pin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/names"
	"mcphub/validate/strictjson"
)

// An argument is a place in the arguments of a tool, as its input schema describes it.
type argument struct {
	pointer     string // JSON pointer (RFC 6901); "*" stands for each item or member without a name
	key         string // the last name in it
	schema      jsontext.Value
	members     map[string]jsontext.Value
	description string
}

// Bounds of a walk. What lies beyond them is not seen, so that a change of the schema grows.
const (
	deepest = 16
	most    = 2_000 // places
)

// argumentsOf returns the arguments that an input schema describes, in the order of their pointers. whole: no part of the schema that
// could describe one was left out.
func argumentsOf(schema jsontext.Value) (arguments []argument, whole bool) {
	all := map[string]argument{}
	w := argumentWalk{root: schema, found: all}
	w.enter(place{schema: schema})
	delete(all, "")
	for _, pointer := range slices.Sorted(maps.Keys(all)) {
		arguments = append(arguments, all[pointer])
	}
	return arguments, !w.unseen
}

// An argumentWalk goes through a schema.
type argumentWalk struct {
	root   jsontext.Value
	found  map[string]argument
	steps  int
	unseen bool // a part of the schema was not followed
}

// unfollowed are the words of a schema that describe arguments, and are not followed.
var unfollowed = []string{"if", "then", "else", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"}

// A place is where a walk is.
type place struct {
	pointer, key string
	schema       jsontext.Value
	refs         []string // that were followed on the way: none is followed twice, so that the walk ends
	depth        int
}

func (w *argumentWalk) enter(p place) {
	members := membersOf(p.schema)
	if was, twice := w.found[p.pointer]; twice { // another branch describes it, too
		members = joinBranches(was.members, members)
	}
	w.found[p.pointer] = argument{pointer: p.pointer, key: p.key, schema: p.schema, members: members, description: stringOf(members["description"])}
	own := membersOf(p.schema)
	if w.steps++; p.depth == deepest || w.steps > most {
		w.unseen = true
		return
	}
	w.unseen = w.unseen || slices.ContainsFunc(unfollowed, func(word string) bool { return own[word] != nil && string(own[word]) != "false" })
	if ref := stringOf(own["$ref"]); own["$ref"] != nil && !slices.Contains(p.refs, ref) {
		target, ok := w.target(ref)
		if w.unseen = w.unseen || !ok; ok {
			w.enter(place{p.pointer, p.key, target, append(slices.Clip(p.refs), ref), p.depth + 1})
		}
	}
	inner := func(step, key string, schema jsontext.Value) {
		w.enter(place{p.pointer + step, key, schema, p.refs, p.depth + 1})
	}
	properties := membersOf(own["properties"])
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inner("/"+strictjson.EscapeToken(name), name, properties[name])
	}
	patterns := membersOf(own["patternProperties"])
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		inner("/*", p.key, patterns[pattern])
	}
	for _, word := range []string{"items", "additionalProperties", "contains"} {
		if of := own[word]; of.Kind() == '{' {
			inner("/*", p.key, of)
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		var branches []jsontext.Value
		_ = json.Unmarshal(own[word], &branches) // else there are none
		step := ""
		if word == "prefixItems" {
			step = "/*"
		}
		for _, of := range branches {
			inner(step, p.key, of)
		}
		if word == "anyOf" || word == "oneOf" {
			w.loosen(p.pointer, own, branches)
		}
	}
}

// loosen takes the limits away that one of several branches does not have: what it accepts is accepted.
func (w *argumentWalk) loosen(pointer string, own map[string]jsontext.Value, branches []jsontext.Value) {
	members := maps.Clone(w.found[pointer].members)
	for _, of := range branches {
		branch := membersOf(of)
		if string(branch["type"]) == `"null"` {
			continue
		}
		for _, word := range limits {
			if own[word] == nil && branch[word] == nil && branch["$ref"] == nil {
				delete(members, word)
			}
		}
	}
	a := w.found[pointer]
	a.members = members
	w.found[pointer] = a
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
	rest, ok := strings.CutPrefix(ref, "#")
	at := w.root
	for ok && rest != "" {
		var step string
		if step, rest, ok = strictjson.CutToken(rest); ok {
			at = membersOf(at)[step]
			ok = at != nil
		}
	}
	return at, ok
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

// mayName is what the words of a new argument are about if it may name a place or a program.
var mayName = lazyregexp.New(`(?i)\b(?:files?|folders?|director(?:y|ies)|paths?|disks?|drives?|volumes?|mounts?|stores?|saves?|outputs?|dumps?|exports?|attach(?:ments?)?|(?:up|down)loads?|url|uri|https?|addresses|address|hosts?|servers?|endpoints?|resolvers?|registr(?:y|ies)|mirrors?|prox(?:y|ies)|remotes?|feeds?|forward|post|kubeconfig|config|scripts?|programs?|executables?|binar(?:y|ies)|commands?|shell|bash|sh|python|ruby|javascript|js|node|npx|code|expressions?|expr|eval(?:uated)?|execut(?:e[ds]?|ing)|hooks?|plugins?|modules?|install(?:s|ed)?|pagers?|formatters?|entrypoints?)\b|[a-z]+://`)

// readable is what each text in English has.
var readable = lazyregexp.New(`(?i)\b(?:the|an?|of|to|for|in|on|by|with|if|is|are|or|and|only|from|as|at|not|this|that|it)\b`)

// fewWords is how many words a text may have without one that shows that it can be read.
const fewWords = 4

// mayGiveAuthority works like authority for an argument that is new: what may name a place or a program counts, and text that cannot be
// read.
func (a *argument) mayGiveAuthority() string {
	if kind := a.authority(); kind != "" {
		return kind
	}
	if !a.acceptsText() || a.isChoice() {
		return ""
	}
	var b names.Buffer
	var words []string
	for _, word := range b.Split(a.key) {
		words = append(words, string(word))
	}
	for _, word := range []string{"title", "description", "default", "pattern", "$comment"} {
		words = append(words, textsIn(a.members[word])...)
	}
	if mayName.MatchString(strings.Join(words, " ")) {
		return "a path, a URL or a command, by its words"
	}
	if len(strings.Fields(a.description)) > fewWords && !readable.MatchString(a.description) {
		return "what cannot be read"
	}
	return ""
}

// isChoice reports whether the argument accepts values of a list alone.
func (a *argument) isChoice() bool { return a.members["enum"] != nil || a.members["const"] != nil }

// acceptsAll reports whether no word of its schema leaves a value out.
func (a *argument) acceptsAll() bool {
	for word := range a.members {
		if !slices.Contains(prose, word) {
			return false
		}
	}
	return true
}

// acceptsText reports whether a string is among what the argument accepts.
func (a *argument) acceptsText() bool {
	kinds := a.kinds()
	return len(kinds) == 0 || slices.Contains(kinds, "string") || slices.Contains(kinds, "array") || slices.Contains(kinds, "object") && a.members["properties"] == nil
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
	old, left := map[string]argument{"": {members: membersOf(was)}}, map[string]argument{"": {members: membersOf(now)}} // "" is the object of all
	former, _ := argumentsOf(was)
	for _, a := range former {
		old[a.pointer] = a
	}
	current, whole := argumentsOf(now)
	if !whole {
		d.grow("its arguments are described in a way that cannot be compared whole, and not as before")
	}
	for _, a := range current {
		left[a.pointer] = a
	}
	stays := func(pointer string) bool { _, stays := left[pointer]; return stays }
	for _, a := range current {
		former, known := old[a.pointer]
		if !known {
			if above, below := strings.CutSuffix(a.pointer, "/*"); below && a.acceptsAll() && closes(old[above].members) {
				d.grow("what is below %s may be anything now, and was closed", cmp.Or(above, "the object of its arguments"))
			}
			d.addArgument(a, old, stays)
			continue
		}
		d.compareArgument(former, a)
	}
	for _, pointer := range slices.Sorted(maps.Keys(old)) {
		former := old[pointer]
		above, below := strings.CutSuffix(pointer, "/*")
		place, within := cmp.Or(above, "the object of its arguments"), above
		for !stays(within) {
			within = within[:strings.LastIndexByte(within, '/')]
		}
		switch {
		case stays(pointer):
		case !below:
			d.differ("its argument %s is gone", pointer)
		case former.acceptsAll():
			d.differ("what is below %s might be anything, and is not described any more", place)
		case closesAlone(left[within].members) && within != above:
			d.differ("its argument %s is gone", place)
		case closesAlone(left[within].members):
			d.differ("%s accepts no members any more that it has no name for", place)
		default:
			d.grow("what is below %s may be anything now", place)
		}
	}
	d.compareArgument(old[""], left[""])
}

// addArgument reports a new argument. One that has taken the place of another with the same schema is renamed.
func (d *differences) addArgument(a argument, old map[string]argument, stays func(pointer string) bool) {
	kind := a.mayGiveAuthority()
	for _, pointer := range slices.Sorted(maps.Keys(old)) {
		former := old[pointer]
		if !stays(pointer) && bytes.Equal(former.schema, a.schema) && former.mayGiveAuthority() == kind {
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

// prose are the members of a schema that are for people alone.
var prose = []string{"title", "description", "examples", "$comment"}

// compareArgument reports whether an argument accepts more than before, or names something that it did not.
func (d *differences) compareArgument(was, now argument) {
	name := "its argument " + now.pointer
	if now.pointer == "" {
		name = "the object of its arguments"
	}
	authority := (*argument).authority
	if !bytes.Equal(without(was.schema, prose), without(now.schema, prose)) {
		authority = (*argument).mayGiveAuthority // it is not the words alone that are others
	}
	if kind := authority(&now); now.pointer != "" && kind != "" && authority(&was) == "" {
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
		case word == "enum" && now.authority() == "":
			if value := strongerChoice(had, has); value != "" {
				d.grow("%s offers %s now, which stands for more than the choices before", name, printable.Quote(value))
			} else {
				d.differ("%s has another enum", name)
			}
		case word == "pattern", word == "const", word == "not", now.authority() != "" && word != "format":
			d.grow("%s may accept more: its %s is another one", name, word)
		default:
			d.differ("%s has another %s", name, word)
		}
	}
}

// strongerChoice returns a new choice whose name stands for more than each choice before; "" if there is none.
func strongerChoice(was, now jsontext.Value) string {
	role := func(choice string) (most access.Role) {
		for _, verb := range []string{choice, strings.TrimSuffix(choice, "d"), strings.TrimSuffix(choice, "ed")} {
			if tr := names.TraitsOf(verb, false, false); tr.Known {
				most = max(most, tr.Role)
			}
		}
		return most
	}
	old := textsIn(was)
	most := access.None
	for _, choice := range old {
		most = max(most, role(choice))
	}
	for _, choice := range textsIn(now) {
		if !slices.Contains(old, choice) && role(choice) > most {
			return choice
		}
	}
	return ""
}

// closesAlone reports whether an object accepts no members without a name, by what every draft reads: drafts before 2019-09 read nothing beside
// a reference, and no unevaluatedProperties.
func closesAlone(members map[string]jsontext.Value) bool {
	return string(members["additionalProperties"]) == "false" && members["$ref"] == nil && members["patternProperties"] == nil
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
