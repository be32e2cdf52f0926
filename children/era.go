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
// instance for the other one (Supervisor.ServingKey).
var errOtherEra = errors.New("it speaks only the other era of the protocol: the instance for that serves all")

// firstEra returns the era that a child is tried in first: the one that hub.json names,
// else the one it had when it was last started for the same clients, else the clients'.
// If the child exited when it was spoken to in that era, it is the other.
func (child *childInstance) firstEra() spec.Era {
	era := child.key.Era
	switch {
	case child.spec.Era != spec.EraAuto:
		era = child.spec.Era
	case child.history.diedInEra != spec.EraAuto:
		era = child.history.diedInEra.Other()
	case child.history.spokenEra != spec.EraAuto:
		era = child.history.spokenEra
	}
	if era == spec.EraModern {
		return spec.EraModern
	}
	return spec.EraLegacy
}

// versionToPropose returns the version of the handshake that the next start proposes first;
// "": the newest. It is the one by which the child was listed last, if it refused a newer one
// then.
func (child *childInstance) versionToPropose() string {
	if child.manner == nil {
		return ""
	}
	return child.manner.Proposed
}

// agreedOffer returns an offer as it is remembered. If the server calls itself another version
// than before, it is another program, and the next start asks it for the newest version again.
func (child *childInstance) agreedOffer(o *offers.RawOffer) *offers.RawOffer {
	if child.versionToPropose() == "" || child.manner.ServerVersion == o.ServerVersion {
		return o
	}
	now := *o
	now.Proposed = ""
	return &now
}

// servingKey returns the Key of the instance that serves the clients of k.
func (shared *common) servingKey(s spec.Spec, k spec.Key) spec.Key {
	if s.Era == spec.EraAuto && s.Share != spec.ShareSession && shared.lacksEra(s, k) && !shared.lacksEra(s, k.OtherEra()) {
		return k.OtherEra()
	}
	return k
}

// lacksEra reports whether a child is known not to speak the era of a Key.
func (shared *common) lacksEra(s spec.Spec, k spec.Key) bool {
	o := shared.recallManner(s, shared.offerDigest(shared.machineOf(s), s, k))
	return o != nil && !o.Both && o.IsModern() != (k.Era == spec.EraModern)
}

// endForOtherEra ends an instance whose clients are served by another one. Its Key is free
// then, so a child that has changed meanwhile is asked again.
func (child *childInstance) endForOtherEra(r *run.Run) {
	child.common.giveUp(child)
	child.retire(errOtherEra)
	child.keepOffer()
	child.endRun(r, errOtherEra.Error())
}
