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
func (kept *cache) catalogOf(offers []*Offer, build func() *Catalog) *Catalog {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	i := slices.IndexFunc(kept.kept, func(k cacheEntry) bool { return slices.Equal(k.offers, offers) })
	k := cacheEntry{offers: offers}
	switch {
	case i >= 0:
		k = kept.kept[i]
		kept.kept = slices.Delete(kept.kept, i, i+1)
	default:
		k.catalog = build()
		kept.kept = kept.kept[:min(len(kept.kept), maxKept-1)]
	}
	kept.kept = slices.Insert(kept.kept, 0, k)
	return k.catalog
}
