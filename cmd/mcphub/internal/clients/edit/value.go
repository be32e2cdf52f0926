package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"mcphub/internal/nesting"
)

// maxDepth bounds the nesting of a file, because the parsers recurse.
const maxDepth = 200

// A Table is an object whose members keep their order. A value in it is nil, a
// bool, a string, a json.Number, a []any of values, or a Table.
type Table []Member

// A Member is one name of a Table with its value.
type Member struct {
	Name  string
	Value any
}

// Get returns the value of that name, or nil.
func (t Table) Get(name string) any {
	if i := t.indexOf(name); i >= 0 {
		return t[i].Value
	}
	return nil
}

// Has reports whether there is a value of that name.
func (t Table) Has(name string) bool { return t.indexOf(name) >= 0 }

func (t Table) indexOf(name string) int {
	return slices.IndexFunc(t, func(m Member) bool { return m.Name == name })
}

// With returns the table with a value under a name, instead of one that was there.
func (t Table) With(name string, v any) Table {
	out := append(Table(nil), t...)
	if i := out.indexOf(name); i >= 0 {
		out[i].Value = v
		return out
	}
	return append(out, Member{name, v})
}

// Without returns the table without that name.
func (t Table) Without(name string) Table {
	var out Table
	for _, m := range t {
		if m.Name != name {
			out = append(out, m)
		}
	}
	return out
}

// MarshalJSON writes the members in their order.
func (t Table) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range t {
		if i > 0 {
			b.WriteByte(',')
		}
		v, err := json.Marshal(m.Value)
		if err != nil {
			return nil, err
		}
		b.Write(hujson.String(m.Name))
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON keeps the order of the members.
func (t *Table) UnmarshalJSON(data []byte) error {
	v, err := hujson.Parse(data)
	if err != nil {
		return err
	}
	out, ok := fromHuJSON(v).(Table)
	if !ok {
		return fmt.Errorf("want an object")
	}
	*t = out
	return nil
}

// Equal reports whether two values mean the same, whatever the order of members.
func Equal(a, b any) bool { return reflect.DeepEqual(toMaps(a), toMaps(b)) }

// toMaps turns tables into maps. It keeps an empty list apart from none, and takes 1 and 1.0 for one
// number.
func toMaps(v any) any {
	switch v := v.(type) {
	case Table:
		out := map[string]any{}
		for _, m := range v {
			out[m.Name] = toMaps(m.Value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = toMaps(v[i])
		}
		return out
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	}
	return v
}

// Decode reads the whole of a file. A file without content is an empty table.
func Decode(format Format, data []byte) (Table, error) {
	data = bytes.TrimPrefix(data, bom)
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	switch format {
	case TOML:
		var raw map[string]any
		if err := toml.Unmarshal(data, &raw); err != nil {
			return nil, tomlError(err)
		}
		t, _ := fromMap(raw).(Table)
		return t, nil
	case YAML:
		var raw any
		if err := yaml.UnmarshalWithOptions(data, &raw, yaml.UseOrderedMap()); err != nil {
			return nil, dropPosition(yamlPlace, firstLine(err.Error()))
		}
		switch t := fromMap(raw).(type) {
		case nil:
			return nil, nil
		case Table:
			return t, nil
		}
	default:
		v, err := parseJSON(data)
		if err != nil {
			return nil, err
		}
		if t, ok := fromHuJSON(v).(Table); ok {
			return t, nil
		}
	}
	return nil, fmt.Errorf("the file holds no settings by name")
}

func parseJSON(data []byte) (hujson.Value, error) {
	if nesting.TooDeep(data, maxDepth) >= 0 {
		return hujson.Value{}, fmt.Errorf("more than %d levels of nesting", maxDepth)
	}
	// The parser wants a line comment to end in a newline.
	if !bytes.HasSuffix(data, []byte("\n")) {
		data = append(data[:len(data):len(data)], '\n')
	}
	v, err := hujson.Parse(data)
	if err != nil {
		err = dropPosition(jsonPlace, err.Error())
	}
	return v, err
}

// firstLine leaves out what a parser quotes of the file: it may hold a secret.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func fromHuJSON(v hujson.Value) any {
	switch t := v.Value.(type) {
	case *hujson.Object:
		out := make(Table, 0, len(t.Members))
		for _, m := range t.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			out = append(out, Member{name.String(), fromHuJSON(m.Value)})
		}
		return out
	case *hujson.Array:
		out := make([]any, 0, len(t.Elements))
		for _, e := range t.Elements {
			out = append(out, fromHuJSON(e))
		}
		return out
	case hujson.Literal:
		switch t.Kind() {
		case '"':
			return t.String()
		case 't', 'f':
			return t.Bool()
		case '0':
			return json.Number(t.String())
		}
	}
	return nil
}

// fromMap turns what the parsers of TOML and YAML give into values of ours.
func fromMap(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(Table, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, Member{name, fromMap(v[name])})
		}
		return out
	case yaml.MapSlice:
		out := make(Table, 0, len(v))
		for _, m := range v {
			out = append(out, Member{fmt.Sprint(m.Key), fromMap(m.Value)})
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fromMap(v[i])
		}
		return out
	case nil, bool, string, json.Number:
		return v
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case int, int64, uint64, float64, float32, int32, uint32, uint:
		return json.Number(fmt.Sprint(v))
	}
	return fmt.Sprint(v)
}

// inline describes how a format writes a value on one line.
type inline struct {
	open, is, shut string // around the members of a table, and behind the name of each
	name, text     func(string) string
}

func (f inline) writeValue(v any) string {
	switch t := v.(type) {
	case Table:
		parts := make([]string, len(t))
		for i, m := range t {
			parts[i] = f.name(m.Name) + f.is + f.writeValue(m.Value)
		}
		return f.open + strings.Join(parts, ", ") + f.shut
	case []any:
		parts := make([]string, len(t))
		for i := range t {
			parts[i] = f.writeValue(t[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return f.text(t)
	}
	b, _ := json.Marshal(v) // nothing, a bool or a number
	return string(b)
}
