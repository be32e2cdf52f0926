package configuration

import (
	"github.com/rs/zerolog"

	"mcphub/children/offers"
	"mcphub/hub/catalog"
	"mcphub/internal/printable"
)

// ReadOffer returns what this Configuration shows of a child's offer. It is read once for all: the last reading counts if it is
// the same offer.
func (conf *Configuration) ReadOffer(child *Child, raw *offers.RawOffer) *catalog.Offer {
	return conf.CatalogBuilder.Show(conf.Common().readWhole(child.Spec.Name, raw))
}

func (conf *Configuration) readWhole(child string, raw *offers.RawOffer) *catalog.Offer {
	conf.mu.Lock()
	last := conf.read[child]
	conf.mu.Unlock()
	if last != nil && last.Raw == raw {
		return last
	}
	return conf.CatalogBuilder.Read(child, raw)
}

// KeepOffer works like ReadOffer for an offer that others will want too.
func (conf *Configuration) KeepOffer(child *Child, raw *offers.RawOffer) *catalog.Offer {
	return conf.CatalogBuilder.Show(conf.Common().keepWhole(child.Spec.Name, raw))
}

func (conf *Configuration) keepWhole(child string, raw *offers.RawOffer) *catalog.Offer {
	o := conf.readWhole(child, raw)
	conf.mu.Lock()
	defer conf.mu.Unlock()
	if last := conf.read[child]; last != nil && last.Raw == raw {
		return last // of two readings at a time the first counts
	}
	conf.read[child] = o
	conf.warnOmitted(o)
	return o
}

// maxNamed is how much of what is not offered one warning names.
const maxNamed = 10

// warnOmitted logs what a child defines and is not offered.
func (conf *Configuration) warnOmitted(o *catalog.Offer) {
	if len(o.Omitted) == 0 {
		return
	}
	what := zerolog.Arr()
	for _, left := range o.Omitted[:min(len(o.Omitted), maxNamed)] {
		what = what.Str(printable.Escape(left.Name, 100) + ": " + printable.Escape(left.Reason, 300))
	}
	conf.Log.Warn().Str("child", o.Child()).Int("count", len(o.Omitted)).Array("what", what).Msg("not everything that the server defines is offered")
}
