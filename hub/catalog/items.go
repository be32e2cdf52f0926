package catalog

import (
	"fmt"

	"mcphub/children/offers"
	"mcphub/hub/definition"
	"mcphub/hub/pin"
	"mcphub/internal/jsonrpc"
)

// An Item is a prompt, a resource or a template as the client sees it.
type Item struct {
	Name     string // towards the client: a name, a URI, a URI template
	Child    string
	OwnName  string // the child's own
	Def      []byte // definition towards the client
	NameOnly bool   // of a name that a client made up: see Builder.UnlistedItem

	by *Builder // that read it
}

// readItems reads a child's list of one kind. An entry that is none, or is
// withheld, is left out, with the reason.
func (o *Offer) readItems(k offers.ListKind, child *Child, entries [][]byte, withheld map[pin.Thing]string) {
	b, l := o.by, k.List()
	seen := map[string]bool{}
	size := 0
	for i, raw := range entries {
		given := definition.Read(raw)
		ownName, ok := jsonrpc.String(given.Get(l.Key))
		size += len(raw)
		reason := ""
		switch {
		case !ok || ownName == "":
			reason = fmt.Sprintf("it is no %s with a %s", l.Noun, l.Key)
		case !isUnambiguous(given.Members):
			reason = "its definition has a member twice"
		case seen[ownName]:
			reason = fmt.Sprintf("a second %s of this %s; the first one counts", l.Noun, l.Key)
		case size > b.cfg.Limit:
			reason = b.tooMuch(k)
		default:
			reason = withheld[pin.ThingOf(k, ownName)]
		}
		def, mended, err := definition.Check(k, given)
		if reason == "" && err != nil {
			reason = err.Error()
		}
		label := fmt.Sprintf("%s %d", l.Noun, i+1)
		if ownName != "" {
			label = l.Noun + " " + ownName
		}
		if reason != "" {
			o.Omitted = append(o.Omitted, Omission{label, reason})
			continue
		}
		seen[ownName] = true
		o.Mended = appendMended(o.Mended, label, mended)
		it := &Item{Name: ownName, Child: child.Name, OwnName: ownName, Def: cleanProse(def.Text), by: b}
		if l.ByName() {
			it.Name = b.cfg.Names.exposedName(it.Child, child.Prefix, ownName)
			it.Def = withKey(it.Def, l.Key, it.Name)
		}
		o.items[k] = append(o.items[k], it)
	}
}

// withKey returns a definition that is known by another name, and nothing else changed.
func withKey(def []byte, key, name string) []byte {
	return jsonrpc.Join(jsonrpc.Splice(def, jsonrpc.Edit{Old: jsonrpc.Get(def, key), With: jsonrpc.AppendString(nil, name)}))
}

// nameItems gives the items of all children their final names, in the order of the
// configuration, and returns them by these, and all in the order listed. Prompts
// that want the same name are all marked, like tools. A resource or template that an
// earlier server has too keeps its content and gets a URI that names its server: what
// a later server offers never stands before what was there.
func (b *Builder) nameItems(k offers.ListKind, offered [][]*Item) (byName map[string]*Item, all []*Item) {
	byName = map[string]*Item{}
	wanted := map[string]int{}
	for _, items := range offered {
		for _, it := range items {
			wanted[it.Name]++
		}
	}
	var marked []*Item
	for _, items := range offered {
		for _, it := range items {
			mine := *it
			all = append(all, &mine)
			if wanted[mine.Name] == 1 || !k.List().ByName() && byName[mine.Name] == nil {
				byName[mine.Name] = &mine
			} else {
				marked = append(marked, &mine)
			}
		}
	}
	for _, it := range marked {
		it.Name = b.markedItem(k, byName, it)
		it.Def = withKey(it.Def, k.List().Key, it.Name)
		byName[it.Name] = it
	}
	for name, it := range byName {
		if it.by != b.reader {
			delete(byName, name) // its server is being replaced: see dropReplaced
		}
	}
	return byName, all
}

func (b *Builder) markedItem(k offers.ListKind, byName map[string]*Item, it *Item) string {
	if !k.List().ByName() {
		return serverURI(it.Child, it.OwnName) // those of apps have their names already: see apps.go
	}
	return b.uniqueName(it.Child, it.OwnName, func(name string) bool { return byName[name] != nil })
}
