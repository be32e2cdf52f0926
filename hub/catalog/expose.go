package catalog

// An Exposure describes which tools of children stand on the list of tools. One that
// does not is found by Find and called like any other. The zero value lists all.
type Exposure struct {
	Search bool // list only the ones that Child.Always names
	Above  int  // the same if the definitions of all have more bytes than this; 0: never
}

// isSearched reports whether only some of these tools stand on the list.
func (b *Builder) isSearched(all []*Tool) bool {
	search := b.cfg.Expose
	return search.Search || search.Above > 0 && bytesOf(all) > search.Above
}

// listedTools returns the tools that stand on the list.
func (b *Builder) listedTools(all []*Tool) []*Tool {
	if !b.isSearched(all) {
		return all
	}
	var some []*Tool
	for _, t := range all {
		if child := b.byName[t.Child]; t.Child == "" || child != nil && matchesAny(child.Always, t.OwnName, false) {
			some = append(some, t)
		}
	}
	return some
}

func bytesOf(tools []*Tool) int {
	n := 0
	for _, t := range tools {
		n += len(t.Def)
	}
	return n
}
