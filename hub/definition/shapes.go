package definition

import (
	"maps"

	"mcphub/children/offers"
)

// A form is what kind of value a client expects.
type form uint8

const (
	anything form = iota
	object        // members as the shape lists them; others may be anything
	record        // an object of values of one shape
	list
	text
	flag
	number
	whole     // a number without a fraction
	choice    // one of some texts
	moment    // RFC 3339, as the SDK's schema has it
	schema    // what older clients take for a JSON Schema: an object, or a list
	subschema // a JSON Schema that they compile: members as the shape lists them, or true or false
	severally // a value of one shape, or a list of the ones of another
	some      // a list that is not empty
)

// A shape is what a client accepts in one place of a definition.
type shape struct {
	form    form
	members map[string]*shape // of an object
	needs   []string          // members that must be there
	each    *shape            // of a record or a list, or one alone
	many    *shape            // of a list, if there may be one alone
	choices []string
	most    float64 // of a number from 0 on; 0: any
	absent  string  // what stands for a needed member that is absent or null: JSON; "": nothing does
}

// takesAnyMembers reports whether an object fits whatever its members are, so that they need not be read.
func (s *shape) takesAnyMembers() bool {
	return len(s.members) == 0 && len(s.needs) == 0 && (s.each == nil || s.each.form == anything)
}

var (
	anyValue  = &shape{form: anything}
	aText     = &shape{form: text}
	aFlag     = &shape{form: flag}
	anyObject = &shape{form: object}
	texts     = &shape{form: list, each: aText}

	icons = &shape{form: list, each: &shape{form: object, needs: []string{"src"}, members: map[string]*shape{
		"src": aText, "mimeType": aText, "sizes": texts, "theme": {form: choice, choices: []string{"light", "dark"}},
	}}}
	annotations = &shape{form: object, members: map[string]*shape{
		"audience": {form: list, each: &shape{form: choice, choices: []string{"user", "assistant"}}},
		"priority": {form: number, most: 1}, "lastModified": {form: moment},
	}}
	hints = &shape{form: object, members: map[string]*shape{
		"title": aText, "readOnlyHint": aFlag, "destructiveHint": aFlag, "idempotentHint": aFlag, "openWorldHint": aFlag,
	}}
	execution  = &shape{form: object, members: map[string]*shape{"taskSupport": {form: choice, choices: []string{"required", "optional", "forbidden"}}}}
	typeObject = &shape{form: choice, choices: []string{"object"}, absent: `"object"`}
)

// schemaOf returns the shape of the schema of arguments, or of a result, in which each property has a shape.
func schemaOf(property *shape) *shape {
	return &shape{form: object, needs: []string{"type"}, absent: `{"type":"object"}`, members: map[string]*shape{
		"type": typeObject, "$schema": aText, "properties": {form: record, each: property}, "required": texts,
	}}
}

// withName returns the shape of an object that has a name and what most definitions have, and more.
func withName(more map[string]*shape, needs ...string) *shape {
	s := &shape{form: object, needs: append([]string{"name"}, needs...), members: map[string]*shape{
		"name": aText, "title": aText, "description": aText, "icons": icons, "_meta": anyObject,
	}}
	maps.Copy(s.members, more)
	return s
}

// shapes are those for clients of 2026-07-28. Skills have no schema in the protocol: clients read them by the extension.
var shapes = [offers.Kinds]*shape{
	offers.Tools: withName(map[string]*shape{
		"inputSchema": schemaOf(anyValue), "annotations": hints, "execution": execution,
		"outputSchema": {form: object, members: map[string]*shape{"$schema": aText}},
	}, "inputSchema"),
	offers.Prompts: withName(map[string]*shape{
		"arguments": {form: list, each: &shape{form: object, needs: []string{"name"}, members: map[string]*shape{
			"name": aText, "title": aText, "description": aText, "required": aFlag,
		}}},
	}),
	offers.Resources: withName(map[string]*shape{"uri": aText, "mimeType": aText, "size": {form: whole}, "annotations": annotations}, "uri"),
	offers.Templates: withName(map[string]*shape{"uriTemplate": aText, "mimeType": aText, "annotations": annotations}, "uriTemplate"),
}

// olderSchema is the shape of the schema of arguments for clients before 2026-07-28: each property is an object.
var olderSchema = schemaOf(&shape{form: schema})

// resultSchema is the shape of the schema of results for those clients: results are objects. v1 of the SDK also compiles each of these schemas when it
// lists tools, by Ajv with the keywords of draft-07, and gives up the list if one does not compile. What no shape tells, see [findFault].
var resultSchema = resultShape()

func resultShape() *shape {
	sub := &shape{form: subschema}
	list, byName, aNumber := &shape{form: list, each: sub}, &shape{form: record, each: sub}, &shape{form: number}
	aType := &shape{form: choice, choices: []string{"object", "array", "string", "number", "integer", "boolean", "null"}}
	sub.members = map[string]*shape{
		"type": {form: severally, each: aType, many: aType}, "enum": {form: some}, "format": aText, "pattern": aText, "$ref": aText,
		"required": texts, "uniqueItems": aFlag, "nullable": aFlag,
		"properties": byName, "patternProperties": byName, "definitions": byName, "$defs": byName,
		"dependencies": {form: record, each: &shape{form: severally, each: sub, many: aText}}, "items": {form: severally, each: sub, many: sub},
		"anyOf": list, "oneOf": list, "allOf": list,
	}
	for _, name := range []string{"additionalItems", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"} {
		sub.members[name] = sub
	}
	for _, name := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
		"minItems", "maxItems", "minProperties", "maxProperties"} {
		sub.members[name] = aNumber
	}
	top := schemaOf(&shape{form: schema, members: sub.members})
	for name, member := range sub.members {
		if top.members[name] == nil {
			top.members[name] = member
		}
	}
	top.members["$id"] = aText
	return top
}
