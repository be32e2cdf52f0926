package detect

import (
	"bytes"
	"encoding/json"
	"sync"

	"mcphub/internal/jsonschema"
	"mcphub/validate/access"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/names"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// Tool is what a search knows of one tool before any call: its declared arguments, its schema, its role. Immutable once its
// schema is read.
type Tool struct {
	Mode        declare.Mode
	Rules       *declare.Rules
	Traits      names.Traits
	Boxed       bool           // it runs in a container, which has paths of its own
	Rewrites    bool           // its server may need a path in another spelling
	URI         bool           // it is no tool: a resource is asked for by its URI
	Demand      declare.Demand // how far arguments have to fit its schema
	schema      *schema.Schema
	classes     map[string]names.Class // of the declared arguments
	folded      map[string]names.Class // by folded name, for children that ignore case
	pathFormats bool
	defaults    map[string]any // of absent arguments that are paths
	takesPaths  bool           // the schema or a declaration names an argument that is a path
	plain       *plain         // knows most calls that hold nothing; nil: none
	unchecked   error          // see SchemaError
	late        func() *Tool   // the tool with its schema compiled, by the first call; nil if it is
	sound       func() bool    // reports whether the schema is an everyday one, which compiles; nil as late is
}

// UseSchema gives a tool its inputSchema, well-formed JSON, which the first call reads and compiles. A schema that does not
// compile costs the tool the check by it and nothing else: see SchemaError. One that is the server's business is not read. An error
// is of what is no schema at all.
func (t *Tool) UseSchema(raw []byte, depth int) error {
	switch raw = strictjson.TrimJSONSpace(raw); {
	case schema.Anything(raw):
		return nil
	case raw[0] != '{' && raw[0] != 'f':
		return schema.ErrNoSchema
	case t.Demand == declare.DemandNothing:
		t.forgoSchema(nil)
		return nil
	}
	t.sound = sync.OnceValue(func() bool {
		doc, err := schema.Read(raw, depth)
		return err == nil && schema.Sound(doc, true)
	})
	t.late = sync.OnceValue(func() *Tool {
		full := *t
		full.late, full.sound = nil, nil
		if doc, err := schema.Read(raw, depth); err != nil {
			full.forgoSchema(err)
		} else {
			full.loadSchema(doc)
		}
		return &full
	})
	return nil
}

// Loaded returns the tool with its schema compiled.
func (t *Tool) Loaded() *Tool {
	if t.late != nil {
		return t.late()
	}
	return t
}

// SchemaError returns why calls are not checked by the tool's schema; nil if they are, or there is none. It compiles none that
// is an everyday one.
func (t *Tool) SchemaError() error {
	if t.sound != nil && t.sound() {
		return nil
	}
	return t.Loaded().unchecked
}

// forgoSchema does without the schema. Nothing is known of the arguments then, so all of them are searched, unless the operator
// wants none searched.
func (t *Tool) forgoSchema(why error) {
	t.unchecked = why
	if t.Mode == declare.ModeDeclared {
		t.Mode = declare.ModeStrict
	}
}

// loadSchema compiles the schema and takes from it what the search needs, or does without.
func (t *Tool) loadSchema(doc any) {
	s, err := schema.Compile(doc)
	if err != nil {
		t.forgoSchema(err)
		return
	}
	t.schema = s
	t.pathFormats = s.DeclaresPaths()
	t.classes, t.folded = make(map[string]names.Class), make(map[string]names.Class)
	var keys names.Buffer
	for p, sub := range s.Root.Properties {
		class := t.Traits.ClassOf(&keys, p, sub.Description)
		t.classes[p] = class
		if t.pathFormats && s.IsPathSchema(sub) {
			class = names.Path
		}
		t.takesPaths = t.takesPaths || class == names.Path || class == names.Source
		if class != names.Other {
			t.folded[chars.FoldName(p)] = class
		}
	}
	t.takeDefaults(s)
	schema.Each(s.Root, func(at *jsonschema.Schema) {
		for p := range at.Properties {
			if folded := chars.FoldName(p); t.folded[folded] == names.Other {
				t.folded[folded] = t.Traits.ClassOf(&keys, p, "")
			}
		}
	})
	t.plain = plainOf(t)
}

// A server takes the default of its schema for an argument that is absent, so a default that is a path is searched like
// one that was sent.

// takeDefaults keeps the defaults of arguments that are paths by name, declaration or schema.
func (t *Tool) takeDefaults(s *schema.Schema) {
	t.defaults = make(map[string]any)
	at := map[*jsonschema.Schema]bool{s.Root: true}
	schema.AddInPlace(at, false)
	for top := range at {
		for name, sub := range top.Properties {
			value := defaultOf(sub)
			if value == nil {
				continue
			}
			r := t.Rules.Start().Step(name).Rule()
			declared := r != nil && r.Role != access.None
			if class := names.ClassOf(name); class != names.Path && class != names.Source && !declared && !s.IsPathSchema(sub) {
				continue
			}
			t.defaults[name] = value
		}
	}
}

// defaultOf returns the default of a value, nil if there is none.
func defaultOf(sub *jsonschema.Schema) any {
	at := map[*jsonschema.Schema]bool{sub: true}
	schema.AddInPlace(at, false)
	for in := range at {
		if in.Default != nil {
			return *in.Default
		}
	}
	return nil
}

// fitArguments holds decoded arguments against the schema, as far as they have to fit it. The reading is nil if they fit as they stand.
func (t *Tool) fitArguments(v any, work *budget.Budget) (*schema.Reading, error) {
	if t.Demand == declare.DemandLenient {
		return t.schema.Read(v, work)
	}
	return nil, t.schema.Validate(v, work)
}

// searchMissing searches the defaults of the arguments that a call leaves out.
func (d *detector) searchMissing() error {
	left := map[string]any{}
	for name, value := range d.tool.defaults {
		if d.t.Child(0, name) <= 0 {
			left[name] = value
		}
	}
	if len(left) == 0 {
		return nil
	}
	return d.searchOther(left, func(in *detector) error {
		for _, f := range in.findings {
			f.How, f.Rewritable = HowDefault, Rewritable{}
			d.findings = append(d.findings, f)
		}
		return nil
	})
}

// searchReread searches the arguments as they fit the schema, if they do not as they stand, and the ones that they leave out then. It
// returns the resources among them.
func (d *detector) searchReread(v any) (resources []Finding, err error) {
	err = d.searchOther(v, func(in *detector) error {
		if err := in.searchMissing(); err != nil {
			return err
		}
		for _, f := range in.findings {
			f.Rewritable, f.Node = Rewritable{}, -1 // of other bytes
			d.findings = append(d.findings, f)
		}
		resources, err = in.findResources()
		return err
	})
	return resources, err
}

// searchOther searches other arguments of the same call.
func (d *detector) searchOther(v any, found func(in *detector) error) error {
	var raw bytes.Buffer
	w := json.NewEncoder(&raw)
	w.SetEscapeHTML(false) // it is read by no one else, and may be large
	if err := w.Encode(v); err != nil {
		return err
	}
	t := strictjson.New(d.s.Depth)
	defer t.Free()
	if err := t.Parse(raw.Bytes(), d.s.Size); err != nil {
		return err
	}
	in := detector{t: t, s: d.s, m: d.m, tool: d.tool, roleKey: -1, work: d.work, keys: d.keys}
	if err := in.walkTree(); err != nil {
		return err
	}
	return found(&in)
}
