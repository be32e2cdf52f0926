package catalog

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file cleans what children say about themselves: titles and descriptions, in
// schemas too. Every other byte of a definition stays as it was sent: the frontmatter of
// a skill too, which clients compare with its file's.

// A region is what a value in a definition is to those who read it.
type region uint8

const (
	regionOther  region = iota // nothing in it is prose
	regionProse                // a string that is
	regionEntry                // an object that has a title and a description, or a list of such
	regionSchema               // a JSON Schema, or a list of such
	regionNamed                // an object of schemas by names that someone chose
)

// memberRegion returns the region of a member of an object in r.
func (r region) memberRegion(name string) region {
	prose := name == "title" || name == "description"
	switch r {
	case regionEntry:
		switch {
		case prose:
			return regionProse
		case name == "annotations" || name == "arguments" || name == "resources": // resources are the resources of a skill
			return regionEntry
		case name == "inputSchema" || name == "outputSchema":
			return regionSchema
		}
	case regionSchema:
		switch name {
		case "title", "description":
			return regionProse
		case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
			return regionNamed
		case "const", "default", "enum", "examples":
			return regionOther // values: cleaned, they would be others
		}
		return regionSchema
	case regionNamed:
		return regionSchema
	}
	return regionOther
}

// cleanProse returns a definition with its prose cleaned. What is no JSON is
// returned as it is: it is no definition either.
func cleanProse(def []byte) []byte {
	if !bytes.Contains(def, []byte(`\`)) && !printable.Suspect(string(def)) {
		return def
	}
	in := jsontext.NewDecoder(bytes.NewBuffer(def), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var edits []jsonrpc.Edit
	regions := []region{regionOther} // of what is open, outermost first
	next := regionEntry              // of the value that comes
	for {
		open := regions[len(regions)-1]
		kind, members := in.StackIndex(in.StackDepth())
		if kind == '[' {
			next = open
		}
		switch what := in.PeekKind(); {
		case kind == '{' && members%2 == 0 && what == '"':
			name, err := in.ReadToken()
			if err != nil {
				return def
			}
			next = open.memberRegion(name.String())
			continue
		case what == '{' && next >= regionEntry, what == '[' && (next == regionEntry || next == regionSchema):
			regions = append(regions, next)
		case what == '}', what == ']':
			regions = regions[:len(regions)-1]
		case what == '"' && next == regionProse:
			value, err := in.ReadValue()
			if err != nil {
				return def
			}
			end := int(in.InputOffset())
			edits = appendCleaned(edits, def[end-len(value):end])
			continue
		default:
			if err := in.SkipValue(); err != nil {
				return def
			}
			if len(regions) == 1 {
				return def
			}
			continue
		}
		if _, err := in.ReadToken(); err != nil {
			return def
		}
		if len(regions) == 1 {
			break
		}
	}
	if len(edits) == 0 {
		return def
	}
	return jsonrpc.Join(jsonrpc.Splice(def, edits...))
}

// appendCleaned appends the edit that cleans a JSON string, if it needs one.
// Half a surrogate pair makes a text no less one that is read.
func appendCleaned(edits []jsonrpc.Edit, raw []byte) []jsonrpc.Edit {
	text, _ := jsontext.AppendUnquote(nil, raw)
	clean := printable.Clean(string(text))
	if clean == string(text) {
		return edits
	}
	return append(edits, jsonrpc.Edit{Old: raw, With: jsonrpc.AppendString(nil, clean)})
}
