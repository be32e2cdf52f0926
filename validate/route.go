package validate

import (
	"strings"

	"mcphub/validate/chars"
	"mcphub/validate/strictjson"
)

var (
	patchOps    = chars.WordSet("add remove replace move copy test")
	httpMethods = chars.WordSet("GET HEAD POST PUT PATCH DELETE OPTIONS")
)

// isRoute reports a "path" that is a JSON pointer or an HTTP route: it is absolute, begins with the name of nothing on
// this machine, and beside it stands the operation of a JSON patch (RFC 6902) or an HTTP method. Whatever begins with
// something that is there stays a path.
func (d *detector) isRoute(id int32) bool {
	t := d.t
	if t.Nodes[id].Kind != strictjson.String || d.tool.child.container != nil || t.Name(id) != "path" && t.Name(id) != "from" {
		return false
	}
	if s := t.Str(id); len(s) > chars.MaxPath || !strings.HasPrefix(s, "/") || chars.Climbs(s) || d.m.FirstExists(s) {
		return false
	}
	at := t.Child(t.Nodes[id].Parent, "op")
	if at > 0 && t.Nodes[at].Kind == strictjson.String && t.Size(at) < 16 && patchOps[t.Str(at)] {
		return true
	}
	at = t.Child(t.Nodes[id].Parent, "method")
	return at > 0 && t.Nodes[at].Kind == strictjson.String && t.Size(at) < 16 && httpMethods[strings.ToUpper(t.Str(at))]
}
