package catalog

import (
	"slices"
	"sync"
)

// maxKept is how many catalogues are kept for the next session that is offered
// the same: those of sessions that share all their children, and the ones on the
// way there while the children come up.
const maxKept = 32

// A cache lets sessions that are offered the same share one catalogue: a hundred
// sessions of one hub would hold a hundred copies otherwise.
type cache struct {
	mu   sync.Mutex
	kept []cacheEntry // used last comes first
}

type cacheEntry struct {
	offers  []*Offer // in the order of the configuration, nil if a child has none
	catalog *Catalog
}

// catalogOf returns the catalogue of these offers, made now if it is not kept.
func (c *cache) catalogOf(offers []*Offer, build func() *Catalog) *Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kept, func(k cacheEntry) bool { return slices.Equal(k.offers, offers) })
	k := cacheEntry{offers: offers}
	switch {
	case i >= 0:
		k = c.kept[i]
		c.kept = slices.Delete(c.kept, i, i+1)
	default:
		k.catalog = build()
		c.kept = c.kept[:min(len(c.kept), maxKept-1)]
	}
	c.kept = slices.Insert(c.kept, 0, k)
	return k.catalog
}
