package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// Compiling a schema takes a fraction of a millisecond, most of it to find out whether it can be compiled. A hub with
// many servers has thousands of tools, few of which are ever called. So a schema that is made of everyday keywords alone,
// each with a value of the right shape, is known to compile and is compiled by the first call. It is no other schema: the
// bytes are the ones that were listed, and should it not compile after all, the call is refused.

// dialects are the values of $schema under which every keyword below means the same.
var dialects = []string{
	"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#",
	"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema",
}

// Sound reports whether a decoded schema compiles for certain. false means that it is not known.
func Sound(doc any, top bool) bool {
	if _, ok := doc.(bool); ok {
		return true
	}
	m, ok := doc.(map[string]any)
	if !ok {
		return false
	}
	for key, v := range m {
		if key == "$schema" && top {
			s, ok := v.(string)
			if !ok || !slices.Contains(dialects, s) {
				return false
			}
			continue
		}
		if shape := everyday[key]; shape == nil || !shape(v) {
			return false
		}
	}
	return true
}

// everyday are the keywords that sound knows, with what their values must be.
var everyday map[string]func(any) bool

func init() {
	schema := func(v any) bool { return Sound(v, false) }
	schemas := func(v any) bool {
		list, ok := v.([]any)
		return ok && len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool { return !schema(v) })
	}
	byName := func(v any) bool {
		m, ok := v.(map[string]any)
		for _, sub := range m {
			ok = ok && schema(sub)
		}
		return ok
	}
	anything := func(any) bool { return true }
	array, text, flag := is[[]any], is[string], is[bool]
	everyday = map[string]func(any) bool{
		"type": isType, "required": func(v any) bool { return isList(v, text) },
		"properties": byName, "items": schema, "additionalProperties": schema, "propertyNames": schema, "not": schema,
		"anyOf": schemas, "oneOf": schemas, "allOf": schemas,
		"enum": isChoice, "const": anything, "default": anything, "examples": array,
		"title": text, "description": text, "format": text, "$comment": text,
		"uniqueItems": flag, "readOnly": flag, "writeOnly": flag,
		"minLength": isCount, "maxLength": isCount, "minItems": isCount, "maxItems": isCount, "minProperties": isCount, "maxProperties": isCount,
		"minimum": isPlainNumber, "maximum": isPlainNumber, "exclusiveMinimum": isPlainNumber, "exclusiveMaximum": isPlainNumber,
	}
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

// isList reports a list of values of which each is so, and no two are equal.
func isList(v any, each func(any) bool) bool {
	list, ok := v.([]any)
	seen := make(map[any]bool, len(list))
	for _, v := range list {
		if !each(v) || seen[v] {
			return false
		}
		seen[v] = true
	}
	return ok
}

func isType(v any) bool {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	return len(list) > 0 && isList(list, func(v any) bool {
		name, _ := v.(string)
		_, known := kindOfType[name]
		return known
	})
}

// isChoice wants plain values of which no two can be equal: some dialects refuse a choice with one twice.
func isChoice(v any) bool {
	return isList(v, func(v any) bool {
		switch v := v.(type) {
		case string, bool, nil:
			return true
		case json.Number:
			return isCount(v) && !(len(v) > 1 && v[0] == '0')
		}
		return false
	}) && len(v.([]any)) > 0
}

// isCount wants digits, few enough for any integer.
func isCount(v any) bool {
	n, ok := v.(json.Number)
	return ok && len(n) < 10 && strings.Trim(string(n), "0123456789") == ""
}

// isPlainNumber wants no exponent: one can make a short text an enormous number.
func isPlainNumber(v any) bool {
	n, ok := v.(json.Number)
	return ok && len(n) < 20 && !strings.ContainsAny(string(n), "eE")
}
