package schema

import (
	"slices"
	"strings"

	"mcphub/internal/jsonschema"
	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
	"mcphub/validate/strictjson"
)

// pathFormats are the formats by which a schema declares a string to be a path on the child's machine, in lower case and
// without what stands between their words.
var pathFormats = chars.WordSet("path paths filepath filepaths file files filename directory directorypath directoryname dir dirpath dirname folder folderpath " +
	"foldername fileuri fileurl fileordirectory absolutepath abspath relativepath relpath localpath ospath fspath systempath filesystempath posixpath " +
	"workspacepath newpath pathlike")

// isPathFormat reports such a format, in any letter case.
func isPathFormat(format string) bool {
	return pathFormats[chars.Squeeze(format, "-_ .")]
}

// registerFormats makes a compiler keep the formats of paths and URIs that a document names, as it spells them.
func registerFormats(c *jsonschema.Compiler, doc any) {
	switch doc := doc.(type) {
	case map[string]any:
		if f, ok := doc["format"].(string); ok && (isPathFormat(f) || uriFormats[strings.ToLower(f)]) {
			c.RegisterFormat(&jsonschema.Format{Name: f, Validate: func(any) error { return nil }})
		}
		for _, v := range doc {
			registerFormats(c, v)
		}
	case []any:
		for _, v := range doc {
			registerFormats(c, v)
		}
	}
}

// wordFormats are formats of strings that no program takes for a path.
var wordFormats = []string{"date", "time", "date-time", "duration", "email", "idn-email", "hostname", "ipv4", "ipv6", "uuid", "semver"}

const hintSteps = 64

// Hint is what a schema says about one argument.
type Hint struct {
	Enum     bool // only listed constants are accepted
	Word     bool // declared as something that is never a path
	Declared bool // the schema names this member
	Object   bool // an object or an array is accepted too
}

// HintsAt returns what the schema says about a value. It is conservative: where alternatives disagree, the one that
// leaves the value a path counts.
func (s *Schema) HintsAt(t *strictjson.Tree, id int32) Hint {
	if s == nil {
		return Hint{}
	}
	if t.Nodes[id].Parent == 0 && !t.InString(id) {
		if raw, plain := t.RawName(id); plain {
			if h, ok := s.arguments[string(raw)]; ok {
				return h
			}
		}
	}
	if steps, ok := stepsTo(t, id); ok {
		return s.hintAt(steps)
	}
	return Hint{}
}

// hintAt returns what the schema says about the value that some steps lead to.
func (s *Schema) hintAt(to []step) Hint {
	at, declared, _ := s.schemasAt(to, true)
	if len(at) == 0 {
		return Hint{}
	}
	h := Hint{Declared: declared, Enum: true, Word: true}
	spoke := false
	for sub := range at {
		h.Object = h.Object || !saysEverything(sub, new(hintSteps), isSimple)
		if !s.saysAnything(sub, new(hintSteps)) {
			continue
		}
		spoke = true
		h.Enum = h.Enum && saysEverything(sub, new(hintSteps), isConstant)
		h.Word = h.Word && slices.Contains(wordFormats, s.formats[sub])
	}
	h.Enum, h.Word = h.Enum && spoke, h.Word && spoke
	return h
}

// itemSchema returns the schema of the element at an index, if it is a schema.
func itemSchema(s *jsonschema.Schema, index int) any {
	items, isList := s.Items.([]*jsonschema.Schema)
	switch {
	case index < len(s.PrefixItems):
		return s.PrefixItems[index]
	case s.Items2020 != nil:
		return s.Items2020
	case index < len(items):
		return items[index]
	case isList:
		return s.AdditionalItems
	}
	return s.Items
}

// yieldEach yields the schemas that fields of a schema hold.
func yieldEach(yield func(*jsonschema.Schema), fields ...any) {
	for _, v := range fields {
		switch v := v.(type) {
		case *jsonschema.Schema:
			if v != nil {
				yield(v)
			}
		case []*jsonschema.Schema:
			for _, sub := range v {
				yield(sub)
			}
		case map[string]*jsonschema.Schema:
			for _, sub := range v {
				yield(sub)
			}
		}
	}
}

// inPlace yields the subschemas that apply to the same value. If sure is false, it also yields the ones that may
// apply: if, not and the dependent ones.
func inPlace(s *jsonschema.Schema, sure bool, yield func(*jsonschema.Schema)) {
	yieldEach(yield, s.Ref, s.RecursiveRef)
	if s.DynamicRef != nil {
		yieldEach(yield, s.DynamicRef.Ref)
	}
	yieldEach(yield, s.AllOf, s.AnyOf, s.OneOf, s.Then, s.Else)
	if sure {
		return
	}
	yieldEach(yield, s.If, s.Not, s.DependentSchemas)
	for _, v := range s.Dependencies {
		yieldEach(yield, v)
	}
}

// saysAnything reports whether s says anything by which a string could be judged.
func (s *Schema) saysAnything(sub *jsonschema.Schema, steps *int) bool {
	if *steps--; *steps < 0 {
		return true
	}
	if sub.Enum != nil || sub.Const != nil || s.formats[sub] != "" || sub.Types != nil {
		return true
	}
	found := false
	inPlace(sub, true, func(in *jsonschema.Schema) { found = found || s.saysAnything(in, steps) })
	return found
}

// saysEverything reports whether a statement holds for every value that s accepts. says answers for one schema; known is false
// if that schema alone does not tell. If there is more to look at than anybody looks at, it does not hold.
func saysEverything(s *jsonschema.Schema, steps *int, says func(s *jsonschema.Schema) (holds, known bool)) bool {
	if *steps--; *steps < 0 {
		return false
	}
	if holds, known := says(s); known {
		return holds
	}
	each := func(sub *jsonschema.Schema) bool { return saysEverything(sub, steps, says) }
	if s.Ref != nil && each(s.Ref) || slices.ContainsFunc(s.AllOf, each) {
		return true
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(alternatives) > 0 && !slices.ContainsFunc(alternatives, func(sub *jsonschema.Schema) bool { return !each(sub) }) {
			return true
		}
	}
	return false
}

// isConstant: every string is a constant of the schema.
func isConstant(s *jsonschema.Schema) (holds, known bool) {
	known = s.Enum != nil || s.Const != nil || s.Types != nil && !slices.Contains(s.Types.ToStrings(), "string")
	return known, known
}

// isSimple: nothing is an object or an array.
func isSimple(s *jsonschema.Schema) (holds, known bool) {
	switch {
	case s.Bool != nil:
		return !*s.Bool, true
	case s.Enum != nil || s.Const != nil:
		return true, true
	case s.Types != nil:
		types := s.Types.ToStrings()
		return !slices.Contains(types, "object") && !slices.Contains(types, "array"), true
	}
	return false, false
}

// PathAt reports how the schema declares a value to be a path: by a format, or by the words about it, wherever a keyword
// applies a schema to it. If there is more to look at than anybody looks at, it is one.
func (s *Schema) PathAt(t *strictjson.Tree, id int32) (how string) {
	at, all := s.appliedTo(t, id)
	if !all {
		return HowFormat
	}
	for sub := range at {
		if h := s.declaredAs(sub); h == HowFormat || h != "" && how == "" {
			how = h
		}
	}
	return how
}

// UriAt reports whether the schema declares a value to be a URI.
func (s *Schema) UriAt(t *strictjson.Tree, id int32) bool {
	at, all := s.appliedTo(t, id)
	for sub := range at {
		all = all && !uriFormats[strings.ToLower(s.formats[sub])]
	}
	return !all
}

// appliedTo returns the schemas that may apply to a value; all is false if they are too many.
func (s *Schema) appliedTo(t *strictjson.Tree, id int32) (at map[*jsonschema.Schema]bool, all bool) {
	steps, ok := stepsTo(t, id)
	if !ok {
		return nil, true // inside a string the schema is silent
	}
	at, _, all = s.schemasAt(steps, false)
	return at, all && AddInPlace(at, false)
}

// step leads from a value to a member or an element of it.
type step struct {
	member bool
	name   string
	index  int
}

// stepsTo lead from the arguments as a whole to a value; ok is false if it stands in JSON inside a string.
func stepsTo(t *strictjson.Tree, id int32) (steps []step, ok bool) {
	for n := id; n > 0; n = t.Nodes[n].Parent {
		if t.InString(n) {
			return nil, false
		}
		if t.IsMember(n) {
			steps = append(steps, step{member: true, name: t.Name(n)})
		} else {
			steps = append(steps, step{index: int(t.Nodes[n].Index)})
		}
	}
	slices.Reverse(steps)
	return steps, true
}

// schemasAt returns the schemas that some steps lead to, without the ones that they apply to the value in turn; all is false
// if there are too many on the way. declared reports that one of them names the value; sure leaves out what may not apply.
func (s *Schema) schemasAt(steps []step, sure bool) (at map[*jsonschema.Schema]bool, declared, all bool) {
	at = map[*jsonschema.Schema]bool{s.Root: true}
	for _, to := range steps {
		if !AddInPlace(at, sure) {
			return nil, declared, false
		}
		next := map[*jsonschema.Schema]bool{}
		declared = false
		for sub := range at {
			declared = yieldGoverning(sub, to, sure, func(in *jsonschema.Schema) { next[in] = true }) || declared
		}
		at = next
	}
	return at, declared, true
}

// IsPathSchema reports a schema that declares its value to be a path, by itself or by one that applies to the same value.
func (s *Schema) IsPathSchema(sub *jsonschema.Schema) bool {
	at := map[*jsonschema.Schema]bool{sub: true}
	if !AddInPlace(at, false) {
		return true
	}
	for in := range at {
		if s.declaredAs(in) != "" {
			return true
		}
	}
	return false
}

// declaredAs reports how one schema states that its value is a path.
func (s *Schema) declaredAs(sub *jsonschema.Schema) string {
	switch {
	case isPathFormat(s.formats[sub]):
		return HowFormat
	case describesPath(sub.Description), describesPath(sub.Title):
		return HowDescription
	}
	return ""
}

const maxGoverning = 1 << 10

// AddInPlace adds the schemas that apply to the same value, as inPlace yields them. It is false if they are too many.
func AddInPlace(at map[*jsonschema.Schema]bool, sure bool) bool {
	var list []*jsonschema.Schema
	for sub := range at {
		list = append(list, sub)
	}
	for i := 0; i < len(list); i++ {
		if len(list) > maxGoverning {
			return false
		}
		inPlace(list[i], sure, func(in *jsonschema.Schema) {
			if !at[in] {
				at[in] = true
				list = append(list, in)
			}
		})
	}
	return true
}

// Each yields every schema of a document once.
func Each(root *jsonschema.Schema, yield func(*jsonschema.Schema)) {
	seen := map[*jsonschema.Schema]bool{root: true}
	list := []*jsonschema.Schema{root}
	for i := 0; i < len(list); i++ {
		yield(list[i])
		yieldSubschemas(list[i], func(sub *jsonschema.Schema) {
			if !seen[sub] {
				seen[sub] = true
				list = append(list, sub)
			}
		})
	}
}

// yieldGoverning yields the schemas that may apply to a member or an element of what s applies to, and reports whether s names
// it.
func yieldGoverning(s *jsonschema.Schema, to step, sure bool, yield func(*jsonschema.Schema)) (named bool) {
	if !to.member {
		yieldEach(yield, itemSchema(s, to.index))
		if !sure {
			yieldEach(yield, s.UnevaluatedItems, s.Contains)
		}
		return false
	}
	sub := s.Properties[to.name]
	yieldEach(yield, sub)
	if sub == nil {
		yieldEach(yield, s.AdditionalProperties)
	}
	if !sure {
		yieldEach(yield, s.UnevaluatedProperties)
		for _, in := range s.PatternProperties { // whichever it matches
			yield(in)
		}
	}
	return sub != nil
}

// leadWords may stand before all else in a description.
const leadWords = `^\W*(?:(?:optional|required|the|a|an|this|your|full|complete|output|input|target|source|destination|base|list of|array of|comma-separated)\W+)*`

// What a description calls a path by: "Absolute path to ...", "The directory path ...", or "The path to the workspace
// directory", if the sentence reports what is there.
var (
	pathWords1 = lazyregexp.New(`(?i)` + leadWords + `(?:absolute|relative|local|file|files|filesystem|file system|directory|folder|disk)\W+(?:(?:absolute|relative|local|file|filesystem|system|directory|folder|or|and|output|input)\W+)*(?:path|paths|filepath|pathname)\b(?:\W*$|\W+([a-z]+))`)
	pathWords2 = lazyregexp.New(`(?i)` + leadWords + `(?:path|paths)\s+(?:to|of|for|where|in|on|at|under|from)\b`)
	fileWords  = lazyregexp.New(`(?i)\b(?:files?|director(?:y|ies)|folders?|workspace|disk|filesystem)\b`)
	otherWords = lazyregexp.New(`(?i)\b(?:urls?|uris?|endpoint|routes?|http|https|api|propert(?:y|ies)|fields?|keys?|bucket|vault|repo|repository|branch|element|node|section|heading|request)\b`)
	matchers   = chars.WordSet("pattern patterns regex regexp glob globs prefix prefixes filter filters expression template templates separator component components segment length or")
)

// describesPath reports a description whose first sentence begins by calling its argument the path of a file or directory.
func describesPath(text string) bool {
	if len(text) > 512 {
		text = text[:512]
	}
	first := text
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '\n' || text[i] == '.' && (text[i+1] == ' ' || text[i+1] == '\n') {
			first = text[:i]
			break
		}
	}
	if m := pathWords1.FindStringSubmatch(first); m != nil {
		return !matchers[strings.ToLower(m[1])]
	}
	return pathWords2.MatchString(first) && fileWords.MatchString(first) && !otherWords.MatchString(first)
}

// DeclaresPaths reports whether any schema of the document declares a path, so that most tools skip the question.
func (s *Schema) DeclaresPaths() (found bool) {
	Each(s.Root, func(sub *jsonschema.Schema) { found = found || s.declaredAs(sub) != "" })
	return found
}

// uriFormats are the formats by which a schema declares a string to be a URI.
var uriFormats = map[string]bool{"uri": true, "uri-reference": true, "iri": true, "iri-reference": true}

// DeclaresURIs reports whether any schema of the document has a URI's format.
func (s *Schema) DeclaresURIs() bool {
	if s == nil {
		return false
	}
	for _, f := range s.formats {
		if uriFormats[strings.ToLower(f)] {
			return true
		}
	}
	return false
}
