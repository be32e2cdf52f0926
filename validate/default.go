package validate

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcphub/validate/access"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
)

// A server takes the default of its schema for an argument that is absent, so a default that is a path is judged like
// one that was sent (rule 10).

// takeDefaults keeps the defaults of the arguments that their names, a declaration or the schema make paths.
func (t *Tool) takeDefaults(s *schema.Schema) {
	t.defaults = make(map[string]any)
	at := map[*jsonschema.Schema]bool{s.Root: true}
	schema.Everywhere(at, false)
	for top := range at {
		for name, sub := range top.Properties {
			value := defaultOf(sub)
			if value == nil {
				continue
			}
			declared := false
			if t.rules != nil {
				r := best(step([]position{{node: t.rules}}, name))
				declared = r != nil && r.Role != access.None
			}
			if class := classOf(name); class != keyPath && class != keySource && !declared && !s.PathBelow(sub) {
				continue
			}
			t.defaults[name] = value
		}
	}
}

// defaultOf is the default of a value, nil where there is none.
func defaultOf(sub *jsonschema.Schema) any {
	at := map[*jsonschema.Schema]bool{sub: true}
	schema.Everywhere(at, false)
	for in := range at {
		if in.Default != nil {
			return *in.Default
		}
	}
	return nil
}

// missing searches the defaults of the arguments that a call leaves out.
func (d *detector) missing() error {
	left := map[string]any{}
	for name, value := range d.tool.defaults {
		if d.t.Child(0, name) <= 0 {
			left[name] = value
		}
	}
	if len(left) == 0 {
		return nil
	}
	raw, err := json.Marshal(left)
	if err != nil {
		return err
	}
	t := strictjson.New(d.c.depth)
	defer t.Free()
	if err := t.Parse(raw, d.c.size); err != nil {
		return err
	}
	in := detector{t: t, c: d.c, m: d.m, tool: d.tool, roleKey: -1, work: d.work, keys: d.keys}
	if err := in.run(); err != nil {
		return err
	}
	for _, f := range in.findings {
		f.How, f.rewritable = HowDefault, rewritable{}
		d.findings = append(d.findings, f)
	}
	return nil
}
