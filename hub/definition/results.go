package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/strictjson"
)

// Bounds of a schema of results. Ajv recurses through a schema and what it refers to, and writes a program that has what is referred to each time again:
// a hundred times as much costs a client its stack, or minutes.
const (
	maxResults = 256 << 10 // bytes
	maxNesting = 100       // levels of JSON
	maxLevels  = 400       // schemas in each other, with the ones that are referred to
	maxValues  = 30_000    // values, with the ones that are referred to, each time
	maxPointer = 1_000     // bytes of the pointer to a part of it
)

// A compilation is what Ajv has to do to compile one schema.
type compilation struct {
	places map[string]*place // the schemas in it, by their pointers
	values int
}

// A place is a schema within a schema.
type place struct {
	levels, values int    // within it
	ref            string // the pointer to which it refers; "" for none, "#" for the whole
}

// findFault returns why Ajv does not compile a schema of results, or may not; nil if it does. The schema has its shape, and is within maxResults and
// maxNesting.
func findFault(schema []byte) *Fault {
	var root map[string]any
	numbers := json.NewDecoder(bytes.NewReader(schema))
	numbers.UseNumber()                           // JavaScript reads the ones that are too large for Go
	if err := numbers.Decode(&root); err != nil { // of a member that comes twice the last one counts, as in JavaScript
		return &Fault{"", "is no JSON"}
	}
	if id, ok := root["$id"].(string); ok && !plainID(id) {
		return &Fault{"/$id", "is not known here to such clients"}
	}
	delete(root, "$id")
	c := &compilation{places: map[string]*place{}}
	if _, fault := c.readSchema(root, ""); fault != nil {
		return fault
	}
	return c.followReferences()
}

// What Ajv takes for schemas in a schema.
var (
	alone    = []string{"additionalItems", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "items"}
	several  = []string{"anyOf", "oneOf", "allOf", "items"}
	named    = []string{"properties", "patternProperties", "definitions", "$defs", "dependencies"}
	data     = []string{"const", "enum", "default", "required"} // in which it looks for nothing
	unwanted = []string{"id", "$id", "$anchor", "$dynamicAnchor", "$async", "formatMinimum", "formatMaximum", "formatExclusiveMinimum", "formatExclusiveMaximum"}
)

// readSchema reads a schema and those in it.
func (c *compilation) readSchema(v any, at string) (*place, *Fault) {
	p := &place{levels: 1, values: 1}
	c.places[at] = p
	if c.values++; c.values > maxValues || len(at) > maxPointer {
		return nil, &Fault{"", "is too large"}
	}
	s, isObject := v.(map[string]any)
	if !isObject {
		return p, nil
	}
	below := func(v any, at string) *Fault {
		in, fault := c.readSchema(v, at)
		if fault == nil {
			p.levels, p.values = max(p.levels, in.levels+1), p.values+in.values
		}
		return fault
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		value, at := s[name], at+"/"+strictjson.EscapeToken(name)
		var fault *Fault
		switch list, isList := value.([]any); {
		case slices.Contains(unwanted, name):
			fault = &Fault{at, "is not known here to such clients"}
		case name == "nullable" && !isNullable(s["type"], value):
			fault = &Fault{at, "is wrong beside its type"}
		case name == "pattern" && !surelyCompiles(fmt.Sprint(value)):
			fault = &Fault{at, "is no regular expression of JavaScript"}
		case name == "$ref":
			if p.ref = pointerOf(fmt.Sprint(value)); p.ref == "" {
				fault = &Fault{at, "leads nowhere in this schema"}
			}
		case slices.Contains(several, name) && isList:
			for i, v := range list {
				if fault == nil {
					fault = below(v, at+"/"+strconv.Itoa(i))
				}
			}
		case slices.Contains(alone, name):
			fault = below(value, at)
		case slices.Contains(named, name):
			all, _ := value.(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(all)) {
				switch at := at + "/" + strictjson.EscapeToken(key); {
				case fault != nil:
				case name == "patternProperties" && !surelyCompiles(key):
					fault = &Fault{at, "is no regular expression of JavaScript"}
				case strings.ContainsRune(key, utf8.RuneError), name == "$defs" && key == "$id":
					fault = &Fault{at, "is not known here to such clients"}
				default:
					fault = below(all[key], at)
				}
			}
		default:
			var values int
			values, fault = c.readOpaque(value, at, slices.Contains(data, name))
			p.values += values
		}
		if fault != nil {
			return nil, fault
		}
	}
	return p, nil
}

// readOpaque reads what is no schema. Ajv looks for identifiers in it, unless it is data.
func (c *compilation) readOpaque(v any, at string, isData bool) (values int, fault *Fault) {
	values = 1
	if c.values++; c.values > maxValues || len(at) > maxPointer {
		return 0, &Fault{"", "is too large"}
	}
	below := func(v any, name string) {
		if fault == nil {
			var more int
			more, fault = c.readOpaque(v, at+"/"+name, isData)
			values += more
		}
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			below(v[i], strconv.Itoa(i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if _, isText := v[name].(string); isText && !isData && slices.Contains(unwanted, name) {
				return 0, &Fault{at + "/" + strictjson.EscapeToken(name), "is not known here to such clients"}
			}
			below(v[name], strictjson.EscapeToken(name))
		}
	}
	return values, fault
}

// followReferences adds what the schema refers to.
func (c *compilation) followReferences() *Fault {
	values, levels := c.values, c.places[""].levels
	counted := map[string]bool{}
	for _, at := range slices.Sorted(maps.Keys(c.places)) {
		to := c.places[at]
		for hops := 0; to.ref != ""; hops++ {
			ref := strings.TrimPrefix(to.ref, "#")
			if to = c.places[ref]; to == nil || hops > maxHops {
				return &Fault{at + "/$ref", "leads nowhere in this schema"}
			}
			values += to.values
			if !counted[ref] {
				counted[ref] = true
				levels += to.levels + 1
			}
		}
	}
	if values > maxValues || levels > maxLevels {
		return &Fault{"", "refers to too much"}
	}
	return nil
}

// maxHops is how many references may follow each other directly.
const maxHops = 10

// isNullable reports whether that member of a schema is right beside its type.
func isNullable(types, said any) bool {
	list, isList := types.([]any)
	return (isList && len(list) > 0 || types != nil && !isList) && (said != false || !slices.Contains(list, any("null")) && types != "null")
}

// pointerOf returns the pointer of a reference into the same schema: "#" for the whole, "" if it is none.
func pointerOf(reference string) string {
	fragment, ok := strings.CutPrefix(reference, "#")
	text, err := url.PathUnescape(fragment)
	if !ok || err != nil || !utf8.ValidString(text) || strings.ContainsAny(fragment, "#\ufffd") || strings.Contains(text, "__proto__") {
		return ""
	}
	return "#" + text
}

// plainID reports whether an identifier is one that Ajv takes as it is written. It keeps schemas by it in an object of JavaScript.
func plainID(id string) bool {
	switch id {
	case "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf":
		return false
	}
	return plainIDs.MatchString(id)
}

var plainIDs = lazyregexp.New(`^(https?://[a-z0-9-]+(\.[a-z0-9-]+)*/)?[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*$`)
