package catalog

import (
	"slices"
	"sync"
)

// mostKept is how many catalogues are kept for the next session that is offered
// the same: those of sessions that share all their children, and the ones on the
// way there while the children come up.
const mostKept = 32

// A memo lets sessions that are offered the same share one catalogue: a hundred
// sessions of one hub would hold a hundred copies otherwise.
type memo struct {
	mu   sync.Mutex
	kept []kept // used last comes first
}

type kept struct {
	offers  []*Offer // in the order of the configuration, nil where a child has none
	catalog *Catalog
}

// of returns the catalogue of these offers, made now if it is not kept.
func (m *memo) of(offers []*Offer, build func() *Catalog) *Catalog {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.kept, func(k kept) bool { return slices.Equal(k.offers, offers) })
	k := kept{offers: offers}
	switch {
	case i >= 0:
		k = m.kept[i]
		m.kept = slices.Delete(m.kept, i, i+1)
	default:
		k.catalog = build()
		m.kept = m.kept[:min(len(m.kept), mostKept-1)]
	}
	m.kept = slices.Insert(m.kept, 0, k)
	return k.catalog
}
