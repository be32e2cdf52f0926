package validate

import (
	"errors"
	"fmt"

	"mcphub/internal/resource"
	"mcphub/rootsmgr"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/strictjson"
)

// This file bounds what calls may name beyond files (R16): URIs of the schemes for which the operator, or where they say so
// the client, has given prefixes. What such a URI is and where it lies is for package resource to say.

// bind reads the prefixes of hub.json.
func (c *Checker) bind(cfg Config) error {
	if len(cfg.Resources) == 0 && !cfg.ClientResources {
		return nil
	}
	var errs []error
	set, bad := resource.New(cfg.Resources)
	for i, err := range bad {
		if err != nil {
			errs = append(errs, fmt.Errorf("roots.resources: %s is no prefix: %w", chars.Quote(cfg.Resources[i]), err))
		}
	}
	c.resources, c.clientResources = set, cfg.ClientResources
	return errors.Join(errs...)
}

// resources finds the strings that may be URIs of a bound scheme. It walks the nodes as they lie, those of JSON in strings
// among them: nothing here calls itself.
func (d *detector) resources() (list []Finding, err error) {
	if d.c.resources == nil || d.tool.mode == ModeOff {
		return nil, nil
	}
	formats := d.tool.schema.DeclaresURIs()
	for id := range int32(len(d.t.Nodes)) {
		n := &d.t.Nodes[id]
		if n.Kind != strictjson.String || d.t.IsNested(int32(id)) {
			continue
		}
		key := id
		for key > 0 && !d.t.IsMember(key) {
			key = d.t.Nodes[key].Parent // the element of a list stands under the list's name
		}
		if !(key > 0 && d.keys.NamesURI(d.t.Name(key))) && !(formats && d.tool.schema.UriAt(d.t, id)) {
			continue
		}
		s := d.t.Str(id)
		if !d.c.clientResources && !d.c.resources.Check(s).Bound {
			continue
		}
		if !d.work.Spend(budget.FindSteps) {
			return nil, &strictjson.Error{Code: strictjson.CodeTooLarge, Pointer: d.t.Pointer(id), Message: "more URIs in one call than are judged; split it"}
		}
		if key == 0 {
			key = -1
		}
		list = append(list, Finding{Pointer: d.t.Pointer(id), Raw: chars.Clip(s, maxRaw), Value: s, Role: d.role(key), How: HowResource, node: id})
	}
	return list, nil
}

// found is what the search has come to.
func (d *detector) found() (*Scan, error) {
	resources, err := d.resources()
	if err != nil {
		return nil, err
	}
	return &Scan{tool: d.tool, findings: d.findings, resources: resources, byClient: d.c.clientResources, work: *d.work}, nil
}

// bounds are the prefixes that hold under a view: those of hub.json and, where it says so, those of the client.
func (c *Checker) bounds(v rootsmgr.View) *resource.Set {
	if !c.clientResources || v.Snapshot == nil {
		return c.resources
	}
	var theirs []string
	for _, e := range v.Snapshot.Others() {
		theirs = append(theirs, e.URI)
	}
	return c.resources.With(theirs)
}

// Resources are the prefixes that bound what calls may name beyond files, in their canonical spelling; nil for none.
func (c *Checker) Resources(v rootsmgr.View) []string {
	if c == nil || c.resources == nil {
		return nil
	}
	return c.bounds(v).List("")
}

// judgeResources judges the URIs of a call. What no prefix is about is no finding.
func (c *Checker) judgeResources(findings []Finding, v rootsmgr.View) (list []Judged) {
	if len(findings) == 0 {
		return nil
	}
	set := c.bounds(v)
	for _, f := range findings {
		r := set.Check(f.Value)
		if !r.Bound {
			continue
		}
		out := Judged{Finding: f, Decision: Allow, Code: CodeInsideResource, Leads: r.URI, byClient: c.clientResources}
		if !r.Inside() {
			out.Decision, out.Code, out.Outside, out.Hint = Deny, CodeOutsideResource, true, resourceHint(r.Grant)
			out.bounds = set.List(r.Scheme)
		}
		out.Readings = []Reading{{Text: chars.Clip(f.Value, maxRaw), Path: r.URI, Leads: r.URI, Root: r.Prefix, Code: out.Code, Err: r.Why, kind: -1}}
		list = append(list, out)
	}
	return list
}

// resourceHint is the line of hub.json that would let a URI be named.
func resourceHint(prefix string) string {
	if prefix == "" {
		return ""
	}
	return `"roots": { "resources": [` + string(quoteJSON(prefix)) + `] }`
}

const whyResource = "Of this scheme only what lies at or below these prefixes may be named (roots.resources in hub.json)."
