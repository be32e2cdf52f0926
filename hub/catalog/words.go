package catalog

import (
	"fmt"
	"maps"
	"slices"

	"mcphub/hub/fixed"
	"mcphub/internal/jsonrpc"
)

// This file gives tools the names and words of the operator. Calls are judged, recorded and sent by the server's own.

// Words are what hub.json says about tools of a server, by the server's own names of them.
type Words struct {
	Rename   map[string]string           // what clients know as the tool's own name
	Describe map[string]string           // its description
	Set      map[string][]fixed.Argument // arguments that clients neither see nor give
}

func (w *Words) isEqual(other *Words) bool {
	same := func(a, b []fixed.Argument) bool { return slices.EqualFunc(a, b, fixed.Argument.Equal) }
	return maps.Equal(w.Rename, other.Rename) && maps.Equal(w.Describe, other.Describe) && maps.EqualFunc(w.Set, other.Set, same)
}

// Shown returns what clients know as the tool's own name: the server's name of it, unless hub.json renames it.
func (t *Tool) Shown() string {
	if t.alias != "" {
		return t.alias
	}
	return t.OwnName
}

// applyWords gives the definition towards clients the words of the operator. The error is the reason why the tool cannot be offered so.
func (t *Tool) applyWords(w *Words) error {
	t.Set = w.Set[t.OwnName]
	if text, ok := w.Describe[t.OwnName]; ok {
		t.Def = jsonrpc.Join(jsonrpc.Splice(t.Def, jsonrpc.Edit{Old: jsonrpc.Get(t.Def, "description"), With: jsonrpc.AppendString(nil, text)}))
		if jsonrpc.Get(t.Def, "description") == nil {
			t.Def = append(jsonrpc.AppendMember(slices.Clone(t.Def[:len(t.Def)-1]), "description", jsonrpc.AppendString(nil, text)), '}')
		}
	}
	if len(t.Set) == 0 {
		return nil
	}
	schema := jsonrpc.Get(t.Def, "inputSchema")
	hidden, err := fixed.Hide(schema, t.Set)
	if err != nil {
		return err
	}
	t.Def = jsonrpc.Join(jsonrpc.Splice(t.Def, jsonrpc.Edit{Old: schema, With: hidden}))
	return nil
}

// WithSet returns the arguments of a call of the tool with the ones that hub.json sets. The error is a *fixed.GivenError.
func (t *Tool) WithSet(args []byte) ([]byte, error) {
	if len(t.Set) == 0 {
		return args, nil
	}
	return fixed.Apply(args, t.Set)
}

// dropCollisions leaves out the tools that hub.json renames to what clients know as the name of another tool of the server.
func (o *Offer) dropCollisions() {
	called := map[string]int{}
	for _, t := range o.Tools {
		called[t.Shown()]++
	}
	o.Tools = slices.DeleteFunc(o.Tools, func(t *Tool) bool {
		if t.alias == "" || called[t.alias] == 1 {
			return false
		}
		o.Omitted = append(o.Omitted, Omission{t.OwnName, fmt.Sprintf("\"tools.rename\" of hub.json calls it %q, as another tool of this server is called; give it another name there", t.alias)})
		return true
	})
}

// ShownName returns what clients know as the tool's own name by the server's name of it. The tool may be one that is not offered.
func (catalog *Catalog) ShownName(child, own string) string {
	if by := catalog.by.byName[child]; by != nil && by.Words.Rename[own] != "" {
		return by.Words.Rename[own]
	}
	return own
}

// OwnName returns the server's own name of a tool by what clients know as that name. ok is false if it is the name of no tool: the
// one that the server calls so is called otherwise.
func (b *Builder) OwnName(child, shown string) (ownName string, ok bool) {
	c := b.byName[child]
	if c == nil {
		return shown, true
	}
	for own, alias := range c.Words.Rename {
		if alias == shown {
			return own, true
		}
	}
	return shown, c.Words.Rename[shown] == ""
}
