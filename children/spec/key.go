package spec

import "strings"

// Key names one instance of a child: Instance is the session for ShareSession, a
// digest of the root set for ShareRoots, "" for ShareAll. Era is EraModern for clients
// without a handshake and EraAuto for all others, so that a child that speaks both
// eras is spoken to in its client's. Principal is whose login the instance uses, where
// its server may ask for one: no one else is served by it. It tells apart callers of one principal who may do different things, if
// the server is called by their tokens. Variant is the variant of
// the Spec.
type Key struct {
	Child, Instance string
	Era             Era
	Principal       string
	Variant         string
}

// An Entry names a Spec: what an entry amounts to in some surroundings.
type Entry struct{ Child, Variant string }

// Entry returns whose instance it is.
func (k Key) Entry() Entry { return Entry{k.Child, k.Variant} }

// Entry returns the Key's part that names the Spec.
func (s *Spec) Entry() Entry { return Entry{s.Name, s.Variant} }

func (k Key) String() string {
	name := k.Child
	if k.Instance != "" {
		name += "/" + k.Instance
	}
	if who, _, _ := strings.Cut(k.Principal, "\x00"); who != "" { // the rest is only compared
		name += " of " + who
	}
	if k.Era == EraModern {
		name += " (modern)"
	}
	if k.Variant != "" {
		name += " in " + k.Variant
	}
	return name
}

// OtherEra returns the Key of the same instance for clients of the other era.
func (k Key) OtherEra() Key {
	if k.Era == EraModern {
		k.Era = EraAuto
	} else {
		k.Era = EraModern
	}
	return k
}
