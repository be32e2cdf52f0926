package children

import (
	"errors"

	"mcphub/children/offers"
	"mcphub/children/run"
)

// eraOf is the era in which an offer was made; EraAuto of none, and where the next
// start speaks to the child in the other one.
func eraOf(o *offers.Offer) Era {
	switch {
	case o == nil:
		return EraAuto
	case o.Modern(), o.Both:
		return EraModern
	}
	return EraLegacy
}

// errOtherEra is why an instance ends that several sessions would share: the
// child does not speak the era of these clients, and they are served by the
// instance for the other one (Supervisor.Home).
var errOtherEra = errors.New("it speaks only the other era of the protocol: the instance for that serves all")

// first is the era that a child is tried in first: the one that hub.json names, else
// the one it had when it was last started for the same clients, else that of the
// clients. If the child exited when it was spoken to in that era, it is the other.
func (c *child) first() Era {
	era := c.key.Era
	switch {
	case c.spec.Era != EraAuto:
		era = c.spec.Era
	case c.past.diedOf != EraAuto:
		era = c.past.diedOf.Other()
	case c.past.spoke != EraAuto:
		era = c.past.spoke
	}
	if era == EraModern {
		return EraModern
	}
	return EraLegacy
}

// home tells the Key of the instance that serves the clients of k.
func (n *common) home(s Spec, k Key) Key {
	if s.Era == EraAuto && s.Share != ShareSession && n.lacks(s, k) && !n.lacks(s, k.Other()) {
		return k.Other()
	}
	return k
}

// lacks reports whether a child is known not to speak the era of a Key.
func (n *common) lacks(s Spec, k Key) bool {
	o := n.known(s, k)
	return o != nil && !o.Both && o.Modern() != (k.Era == EraModern)
}

// yield ends an instance whose clients are served by another one. Its Key is free
// then, so a child that has changed meanwhile is asked again.
func (c *child) yield(r *run.Run) {
	c.common.giveUp(c)
	c.retire(errOtherEra)
	c.keep()
	c.end(r, errOtherEra.Error())
}
