package detect

import (
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/strictjson"
)

// resources finds the strings that may be URIs of a bound scheme. It walks the nodes as they lie, those of JSON in strings
// among them: nothing here calls itself.
func (d *detector) resources() (list []Finding, err error) {
	if d.s.Resources == nil || d.tool.Mode == declare.ModeOff {
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
		if !d.s.ClientResources && !d.s.Resources.Check(s).Bound {
			continue
		}
		if !d.work.Spend(budget.FindSteps) {
			return nil, &strictjson.Error{Code: strictjson.CodeTooLarge, Pointer: d.t.Pointer(id), Message: "more URIs in one call than are judged; split it"}
		}
		if key == 0 {
			key = -1
		}
		list = append(list, Finding{Pointer: d.t.Pointer(id), Raw: chars.Clip(s, MaxRaw), Value: s, Role: d.role(key), How: HowResource, Node: id})
	}
	return list, nil
}
