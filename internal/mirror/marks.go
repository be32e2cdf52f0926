package mirror

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mcphub/internal/jsonrpc"
)

// Annotation is the member of a schema that marks a parameter.
const Annotation = "x-mcp-header"

// Prefix is what the name of the header of a marked parameter begins with.
const Prefix = "Mcp-Param-"

// A Mark is a parameter that a header repeats.
type Mark struct {
	Header string   // its whole name
	Path   []string // members of the arguments that lead to it, from the outside in
}

// maxDepth is how deep a schema is searched.
const maxDepth = 100

// Marks returns the marked parameters of a raw inputSchema, in its order. The
// error reports which mark makes the definition invalid, and why: the one who
// calls over HTTP leaves such a tool out (server/tools, x-mcp-header).
func Marks(schema []byte) ([]Mark, error) {
	if !mayMark(schema) {
		return nil, nil
	}
	f := finder{names: map[string]bool{}, paths: map[string]bool{}}
	if err := f.readSchema(schema, nil, true, 0); err != nil {
		return nil, err
	}
	return f.found, nil
}

// mayMark reports whether there may be a mark: most schemas have none, and are
// not read.
func mayMark(schema []byte) bool {
	return bytes.Contains(schema, []byte(Annotation)) || bytes.Contains(schema, []byte(`\u`))
}

// Value returns the raw argument that is marked, nil if there is none or it
// is null: then there is no header either.
func (m Mark) Value(args []byte) []byte {
	for _, name := range m.Path {
		args = jsonrpc.Get(args, name)
	}
	if string(args) == "null" {
		return nil
	}
	return args
}

type finder struct {
	found []Mark
	names map[string]bool // of headers, in lower case
	paths map[string]bool // that are marked
}

// Keywords whose value is data or names, and those whose value is a schema for
// each of its members, whatever they are called.
var (
	noSchemas    = []string{"const", "enum", "default", "examples", "required", "type", "dependentRequired"}
	namedSchemas = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)

// readSchema reads one schema, or a list of them. reachable: nothing but properties
// led here.
func (f *finder) readSchema(raw []byte, path []string, reachable bool, depth int) (err error) {
	if depth > maxDepth {
		if mayMark(raw) {
			return fmt.Errorf("the schema is nested more than %d deep", maxDepth)
		}
		return nil
	}
	if len(raw) > 0 && raw[0] == '[' {
		_ = jsonrpc.Elements(raw, func(v []byte) bool {
			err = f.readSchema(v, nil, false, depth+1)
			return err == nil
		})
		return err
	}
	_ = jsonrpc.Members(raw, func(name string, value []byte) bool {
		switch {
		case name == Annotation:
			err = f.takeMark(raw, value, path, reachable)
		case slices.Contains(noSchemas, name):
		case slices.Contains(namedSchemas, name):
			_ = jsonrpc.Members(value, func(member string, inner []byte) bool {
				err = f.readSchema(inner, append(slices.Clip(path), member), reachable && name == "properties", depth+1)
				return err == nil
			})
		default:
			err = f.readSchema(value, nil, false, depth+1)
		}
		return err == nil
	})
	return err
}

// takeMark takes in one mark of a schema.
func (f *finder) takeMark(schema, value []byte, path []string, reachable bool) error {
	name, isString := jsonrpc.String(value)
	kind, _ := jsonrpc.GetString(schema, "type")
	where := strings.Join(path, ".")
	switch {
	case !reachable || len(path) == 0:
		return fmt.Errorf("%s %.60q stands where properties alone do not lead", Annotation, name)
	case !isString || !Token(name):
		return fmt.Errorf("the %s of %.60q is no name of a header", Annotation, where)
	case kind != "string" && kind != "integer" && kind != "boolean":
		return fmt.Errorf("%.60q has %s and is not of one of the types string, integer and boolean", where, Annotation)
	case f.names[strings.ToLower(name)]:
		return fmt.Errorf("two parameters have the %s %.60q", Annotation, name)
	case f.paths[strings.Join(path, "\x00")]:
		return fmt.Errorf("%.60q has %s twice", where, Annotation)
	}
	f.names[strings.ToLower(name)] = true
	f.paths[strings.Join(path, "\x00")] = true
	f.found = append(f.found, Mark{Header: Prefix + name, Path: path})
	return nil
}

// Token reports whether s may be the name of a header (RFC 9110, 5.1 and 5.6.2).
func Token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}
