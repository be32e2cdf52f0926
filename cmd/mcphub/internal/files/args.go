package files

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
)

// The arguments of a tool are a struct. Its fields are the properties of the JSON
// Schema, and their tags are keywords of that: description, and enum (words
// between commas), default and minItems. A field is required unless it is
// "omitzero". A pointer that is required or has a default is not nil after
// decoding.

// A runner is a tool's function with the arguments that it takes.
type runner struct {
	args reflect.Type
	run  func(c *call, args []byte) (*mcp.CallToolResult, error)
}

func takingArgs[T any](run func(c *call, args T) (*mcp.CallToolResult, error)) runner {
	return runner{reflect.TypeFor[T](), func(c *call, raw []byte) (*mcp.CallToolResult, error) {
		var args T
		if err := decodeArgs(raw, &args); err != nil {
			return nil, fmt.Errorf("invalid arguments: %w", err)
		}
		return run(c, args)
	}}
}

// property is one field of a struct of arguments, as its tags have it.
type property struct {
	reflect.StructField
	name     string
	required bool
	enum     []string
}

func propertiesOf(t reflect.Type) (list []property) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue // its fields are visible
		}
		p := property{StructField: f}
		var omit string
		p.name, omit, _ = strings.Cut(f.Tag.Get("json"), ",")
		p.required = omit == ""
		if words, ok := f.Tag.Lookup("enum"); ok {
			p.enum = strings.Split(words, ",")
		}
		list = append(list, p)
	}
	return list
}

// decodeArgs reads arguments: exact names, no unknown ones, so that a misspelled
// dryRun is not taken for one that was left out.
func decodeArgs(raw []byte, args any) error {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if err := json.Unmarshal(raw, args, json.RejectUnknownMembers(true)); err != nil {
		return inWords(err)
	}
	v := reflect.ValueOf(args).Elem()
	for _, p := range propertiesOf(v.Type()) {
		field := v.FieldByIndex(p.Index)
		if value, ok := p.Tag.Lookup("default"); ok && field.IsZero() {
			if err := json.Unmarshal([]byte(value), field.Addr().Interface()); err != nil {
				return err
			}
		}
		switch {
		case p.Tag.Get("minItems") != "" && field.Len() == 0:
			return errors.New(p.name + " is missing or empty")
		case p.required && field.IsZero():
			return errors.New(p.name + " is missing")
		case p.enum != nil && !slices.Contains(p.enum, field.Elem().String()):
			return fmt.Errorf("%s must be %s, not %q", p.name, strings.Join(p.enum, " or "), field.Elem())
		}
	}
	return nil
}

// inWords returns what the decoder found wrong without its words for Go's types.
func inWords(err error) error {
	var se *json.SemanticError
	if !errors.As(err, &se) || se.GoType == nil {
		return err
	}
	at := strings.TrimPrefix(string(se.JSONPointer), "/")
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("there is no argument %q", at)
	case at == "":
		return errors.New("they must be an object")
	}
	return fmt.Errorf("%s must be of type %s", at, typeName(se.GoType))
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Struct:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	}
	return "string"
}

// schemaOf returns the JSON Schema of a type, with the keywords of a tag.
func schemaOf(t reflect.Type, tag reflect.StructTag) []byte {
	b := fmt.Appendf(nil, `{"type":%q`, typeName(t))
	if words, ok := tag.Lookup("enum"); ok {
		b = fmt.Appendf(b, `,"enum":["%s"]`, strings.ReplaceAll(words, ",", `","`))
	}
	switch t.Kind() {
	case reflect.Slice:
		b = jsonrpc.AppendMember(b, "items", schemaOf(t.Elem(), ""))
	case reflect.Struct:
		members, required := []byte{'{'}, []string{}
		for _, p := range propertiesOf(t) {
			members = jsonrpc.AppendMember(members, p.name, schemaOf(p.Type, p.Tag))
			if p.required {
				required = append(required, fmt.Sprintf("%q", p.name))
			}
		}
		b = fmt.Appendf(b, `,"properties":%s},"required":[%s],"additionalProperties":false`, members, strings.Join(required, ","))
	}
	for _, keyword := range []string{"minItems", "default"} {
		if value, ok := tag.Lookup(keyword); ok {
			b = jsonrpc.AppendMember(b, keyword, []byte(value))
		}
	}
	if text, ok := tag.Lookup("description"); ok {
		b = jsonrpc.AppendString(append(b, `,"description":`...), text)
	}
	return append(b, '}')
}
