package names

import (
	"mcphub/validate/access"
	"mcphub/validate/chars"
)

var (
	deleteVerbs = chars.WordSet("delete remove rm rmdir unlink trash purge destroy erase del clean drop wipe")
	moveVerbs   = chars.WordSet("move rename mv")
	copyVerbs   = chars.WordSet("copy cp duplicate")
	readVerbs   = chars.WordSet("read get list ls search find show view stat info describe cat head tail grep inspect check diff status " +
		"log blame tree lookup query exists preview parse analyze analyse explain count open browse load directory")
	writeVerbs = chars.WordSet("write edit create put append patch update save insert modify replace set add make mkdir touch generate " +
		"export convert download commit checkout reset init apply install build run execute exec start pack clone record upload init")
	fromWords = chars.WordSet("source sources src srcs from old origin")
	toWords   = chars.WordSet("destination destinations dest dests dst to new output outputs out outfile outdir target save")
)

// Traits are what a tool's name and annotations say about what it does with paths.
type Traits struct {
	Role       access.Role // of every path, where the argument's name says nothing else
	Move, Copy bool
	Known      bool // by a word of the name or an annotation
}

// TraitsOf takes the strictest word of the name. A child's annotation may say that a tool only reads; it does not
// outweigh a name that says otherwise. Unknown counts as write.
func TraitsOf(name string, readOnly, destructive bool) Traits {
	var tr Traits
	var b Buffer
	known := access.None
	for _, w := range b.Split(name) {
		switch {
		case moveVerbs[string(w)]:
			tr.Move = true
			known = max(known, access.Write)
		case copyVerbs[string(w)]:
			tr.Copy = true
			known = max(known, access.Write)
		case deleteVerbs[string(w)]:
			known = max(known, access.Delete)
		case writeVerbs[string(w)]:
			known = max(known, access.Write)
		case readVerbs[string(w)]:
			known = max(known, access.Read)
		}
	}
	switch {
	case known != access.None:
		tr.Role = known
	case readOnly:
		tr.Role = access.Read
	default:
		tr.Role = access.Write
	}
	tr.Known = known != access.None || readOnly || destructive
	if destructive && tr.Role == access.Read {
		tr.Role = access.Write
	}
	return tr
}

// RoleOf is the role of a path found under key.
func (tr Traits) RoleOf(b *Buffer, key string) access.Role {
	from, to := false, false
	for _, w := range b.Split(key) {
		from = from || fromWords[string(w)]
		to = to || toWords[string(w)]
	}
	switch {
	case tr.Move && from && !to:
		return access.Delete // it is gone afterwards
	case tr.Move, to:
		return max(tr.Role, access.Write)
	case tr.Copy && from:
		return access.Read
	}
	return tr.Role
}
