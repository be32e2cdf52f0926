package validate

import (
	"strings"

	"mcphub/validate/chars"
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
	if t.nodes[id].kind != kString || d.tool.child.container != nil || t.name(id) != "path" && t.name(id) != "from" {
		return false
	}
	if s := t.str(id); len(s) > maxTail || !strings.HasPrefix(s, "/") || chars.Climbs(s) || d.c.firstExists(s) {
		return false
	}
	at := t.child(t.nodes[id].parent, "op")
	if at > 0 && t.nodes[at].kind == kString && t.nodes[at].end-t.nodes[at].off < 16 && patchOps[t.str(at)] {
		return true
	}
	at = t.child(t.nodes[id].parent, "method")
	return at > 0 && t.nodes[at].kind == kString && t.nodes[at].end-t.nodes[at].off < 16 && httpMethods[strings.ToUpper(t.str(at))]
}
