package configuration

import (
	"github.com/rs/zerolog"

	"mcphub/children/offers"
	"mcphub/hub/catalog"
	"mcphub/internal/printable"
)

// ReadOffer returns what this Configuration shows of a child's offer. It is read once for all: the last reading counts if it is
// the same offer.
func (c *Configuration) ReadOffer(child *Child, raw *offers.RawOffer) *catalog.Offer {
	return c.CatalogBuilder.Show(c.Common().readWhole(child.Spec.Name, raw))
}

func (c *Configuration) readWhole(child string, raw *offers.RawOffer) *catalog.Offer {
	c.mu.Lock()
	last := c.read[child]
	c.mu.Unlock()
	if last != nil && last.Raw == raw {
		return last
	}
	return c.CatalogBuilder.Read(child, raw)
}

// KeepOffer works like ReadOffer for an offer that others will want too.
func (c *Configuration) KeepOffer(child *Child, raw *offers.RawOffer) *catalog.Offer {
	return c.CatalogBuilder.Show(c.Common().keepWhole(child.Spec.Name, raw))
}

func (c *Configuration) keepWhole(child string, raw *offers.RawOffer) *catalog.Offer {
	o := c.readWhole(child, raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.read[child]; last != nil && last.Raw == raw {
		return last // of two readings at a time the first counts
	}
	c.read[child] = o
	c.warnOmitted(o)
	return o
}

// maxNamed is how much of what is not offered one warning names.
const maxNamed = 10

// warnOmitted logs what a child defines and is not offered.
func (c *Configuration) warnOmitted(o *catalog.Offer) {
	if len(o.Omitted) == 0 {
		return
	}
	what := zerolog.Arr()
	for _, left := range o.Omitted[:min(len(o.Omitted), maxNamed)] {
		what = what.Str(printable.Escape(left.Name, 100) + ": " + printable.Escape(left.Reason, 300))
	}
	c.Log.Warn().Str("child", o.Child()).Int("count", len(o.Omitted)).Array("what", what).Msg("not everything that the server defines is offered")
}
