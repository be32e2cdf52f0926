package catalog

import (
	"slices"

	"mcphub/children/offers"
	"mcphub/internal/methods"
	"mcphub/validate"
)

// This file leaves out of the lists what the rules deny altogether.

// For returns the catalogue as it is shown to those whose calls a Checker judges: a tool whose every call is denied,
// whatever its arguments, is neither listed nor found by a search. By its name it is there: a call of it is judged, and its
// denial reports why. The same Checker gives the same Catalog. If it denies nothing so, that is catalog itself.
func (catalog *Catalog) For(by *validate.Checker) *Catalog {
	if by.Rules() == nil {
		return catalog
	}
	return catalog.views.Get(by, func() *Catalog { return catalog.withoutDenied(by) })
}

// withoutDenied makes the Catalog of For.
func (catalog *Catalog) withoutDenied(by *validate.Checker) *Catalog {
	denied := func(t *Tool) bool { return t.Child != "" && by.RefusesTool(t.Child, t.OwnName) }
	out := *catalog
	out.onLists = slices.DeleteFunc(slices.Clone(catalog.onLists), denied)
	out.tools = slices.DeleteFunc(slices.Clone(catalog.tools), denied)
	same := len(out.onLists) == len(catalog.onLists) && len(out.tools) == len(catalog.tools)
	for k := offers.Prompts; k < offers.Kinds; k++ {
		refused := map[string]bool{}
		for i := range catalog.by.cfg.Children {
			name := catalog.by.cfg.Children[i].Name
			refused[name] = by.RefusesTool(name, k.List().Use) || k == offers.Skills && (by.RefusesTool(name, methods.ListSkills) || by.RefusesTool(name, methods.ReadResource))
		}
		out.itemsOnList[k] = slices.DeleteFunc(slices.Clone(catalog.itemsOnList[k]), func(it *Item) bool { return refused[it.Child] })
		same = same && len(out.itemsOnList[k]) == len(catalog.itemsOnList[k])
	}
	out.denied = map[string]bool{}
	for i := range catalog.by.cfg.Children {
		if name := catalog.by.cfg.Children[i].Name; by.DeniesChild(name) {
			out.denied[name], same = true, false
		}
	}
	if same {
		return catalog
	}
	out.makeLists()
	return &out
}
