package children

import (
	"errors"

	"mcphub/children/offers"
	"mcphub/children/run"
	"mcphub/children/spec"
)

// eraOf returns the era in which the next start speaks to the child first: its offer's, or the
// modern one if it can do both. It is EraAuto without an offer.
func eraOf(o *offers.RawOffer) spec.Era {
	switch {
	case o == nil:
		return spec.EraAuto
	case o.IsModern(), o.Both:
		return spec.EraModern
	}
	return spec.EraLegacy
}

// errOtherEra is why an instance ends that several sessions would share: the
// child does not speak the era of these clients, and they are served by the
// instance for the other one (Supervisor.ServedBy).
var errOtherEra = errors.New("it speaks only the other era of the protocol: the instance for that serves all")

// firstEra returns the era that a child is tried in first: the one that hub.json names,
// else the one it had when it was last started for the same clients, else the clients'.
// If the child exited when it was spoken to in that era, it is the other.
func (c *childInstance) firstEra() spec.Era {
	era := c.key.Era
	switch {
	case c.spec.Era != spec.EraAuto:
		era = c.spec.Era
	case c.history.diedOf != spec.EraAuto:
		era = c.history.diedOf.Other()
	case c.history.spoke != spec.EraAuto:
		era = c.history.spoke
	}
	if era == spec.EraModern {
		return spec.EraModern
	}
	return spec.EraLegacy
}

// versionToPropose returns the version of the handshake that the next start proposes first;
// "": the newest. It is the one by which the child was listed last, if it refused a newer one
// then.
func (c *childInstance) versionToPropose() string {
	if c.manner == nil {
		return ""
	}
	return c.manner.Proposed
}

// agreedOffer returns an offer as it is remembered. If the server calls itself another version
// than before, it is another program, and the next start asks it for the newest version again.
func (c *childInstance) agreedOffer(o *offers.RawOffer) *offers.RawOffer {
	if c.versionToPropose() == "" || c.manner.ServerVersion == o.ServerVersion {
		return o
	}
	now := *o
	now.Proposed = ""
	return &now
}

// servedBy returns the Key of the instance that serves the clients of k.
func (c *common) servedBy(s spec.Spec, k spec.Key) spec.Key {
	if s.Era == spec.EraAuto && s.Share != spec.ShareSession && c.lacksEra(s, k) && !c.lacksEra(s, k.OtherEra()) {
		return k.OtherEra()
	}
	return k
}

// lacksEra reports whether a child is known not to speak the era of a Key.
func (c *common) lacksEra(s spec.Spec, k spec.Key) bool {
	o := c.recallManner(s, k)
	return o != nil && !o.Both && o.IsModern() != (k.Era == spec.EraModern)
}

// endForOtherEra ends an instance whose clients are served by another one. Its Key is free
// then, so a child that has changed meanwhile is asked again.
func (c *childInstance) endForOtherEra(r *run.Run) {
	c.common.giveUp(c)
	c.retire(errOtherEra)
	c.keepOffer()
	c.endRun(r, errOtherEra.Error())
}
