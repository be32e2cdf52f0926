package hub

import (
	"slices"
	"sync"
)

// keptCatalogs is how many views are kept for the next session that is offered
// the same: those of sessions that share all their children, and the ones on the
// way there while the children come up.
const keptCatalogs = 32

// catalogMemo lets sessions that are offered the same share one view of it: a
// hundred sessions of one hub would hold a hundred copies otherwise.
type catalogMemo struct {
	mu   sync.Mutex
	kept []keptCatalog // used last comes first
}

type keptCatalog struct {
	offers  []*childOffer // in the order of hub.json, nil where a child has none
	catalog *Catalog
}

// of returns the view of these offers, made now if it is not kept.
func (m *catalogMemo) of(offers []*childOffer, build func() *Catalog) *Catalog {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.kept, func(k keptCatalog) bool { return slices.Equal(k.offers, offers) })
	k := keptCatalog{offers: offers}
	switch {
	case i >= 0:
		k = m.kept[i]
		m.kept = slices.Delete(m.kept, i, i+1)
	default:
		k.catalog = build()
		m.kept = m.kept[:min(len(m.kept), keptCatalogs-1)]
	}
	m.kept = slices.Insert(m.kept, 0, k)
	return k.catalog
}

// buildCatalog returns the view of the offers of one session's children.
func (g *generation) buildCatalog(offers map[string]*childOffer) *Catalog {
	key := make([]*childOffer, len(g.cfg.Children))
	for i := range g.cfg.Children {
		key[i] = offers[g.cfg.Children[i].Spec.Name]
	}
	return g.catalogs.of(key, func() *Catalog { return g.makeCatalog(offers) })
}
