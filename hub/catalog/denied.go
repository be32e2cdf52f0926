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
// denial reports why. The same Checker gives the same Catalog. If it denies nothing so, that is c itself.
func (c *Catalog) For(by *validate.Checker) *Catalog {
	if by.Rules() == nil {
		return c
	}
	return c.views.Get(by, func() *Catalog { return c.withoutDenied(by) })
}

// withoutDenied makes the Catalog of For.
func (c *Catalog) withoutDenied(by *validate.Checker) *Catalog {
	denied := func(t *Tool) bool { return t.Child != "" && by.Refuses(t.Child, t.OwnName) }
	out := *c
	out.onLists = slices.DeleteFunc(slices.Clone(c.onLists), denied)
	out.tools = slices.DeleteFunc(slices.Clone(c.tools), denied)
	same := len(out.onLists) == len(c.onLists) && len(out.tools) == len(c.tools)
	for k := offers.Prompts; k < offers.Kinds; k++ {
		refused := map[string]bool{}
		for i := range c.by.cfg.Children {
			name := c.by.cfg.Children[i].Name
			refused[name] = by.Refuses(name, k.List().Use) || k == offers.Skills && (by.Refuses(name, methods.ListSkills) || by.Refuses(name, methods.ReadResource))
		}
		out.itemsOnList[k] = slices.DeleteFunc(slices.Clone(c.itemsOnList[k]), func(it *Item) bool { return refused[it.Child] })
		same = same && len(out.itemsOnList[k]) == len(c.itemsOnList[k])
	}
	out.denied = map[string]bool{}
	for i := range c.by.cfg.Children {
		if name := c.by.cfg.Children[i].Name; by.DeniesChild(name) {
			out.denied[name], same = true, false
		}
	}
	if same {
		return c
	}
	out.makeLists()
	return &out
}
