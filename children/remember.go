package children

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"

	"mcphub/children/launch"
	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/rootsmgr/guard"
)

// Two things are remembered of a child. Under its digest there is how it is spoken to, an offers.RawOffer
// without content. Under the digest of what it could see when it was listed there is the offer
// itself: what a server says in one project is not shown in another.

// sights is what instances of one Spec can see besides what the Spec gives them.
type sights struct {
	roots    []guard.Root
	boundary sandbox.Boundary
	whose    string // a session's that only those see who have the same rights; "": everybody's
}

// offerDigest names what a child of this Spec offers to the clients of this Key, wherever it works. m is the machineOf the Spec, which may
// share what it sees of the disk with others.
func (shared *common) offerDigest(m launch.Machine, s spec.Spec, k spec.Key) string {
	return s.Digest(m, shared.Version, k.Era, append(s.Capabilities(shared.clientProfile(k).Capabilities), k.Principal...))
}

// plainDigest works like offerDigest for a client of the same principal without capabilities, by the handshake.
// ok is false if it is the same.
func (shared *common) plainDigest(s spec.Spec, k spec.Key) (digest string, ok bool) {
	plain := s.Capabilities(nil)
	if k.Era == spec.EraAuto && bytes.Equal(plain, s.Capabilities(shared.clientProfile(k).Capabilities)) {
		return "", false
	}
	return s.Digest(shared.machineOf(s), shared.Version, spec.EraAuto, append(plain, k.Principal...)), true
}

// narrowDigest narrows a digest to what an instance can see: its roots, which name the directories of rules
// and grants too, its working directory, and whether any boundary holds it. A server at a URL that
// is served no roots is on another machine and sees none of that.
func (shared *common) narrowDigest(digest string, s spec.Spec, visible sights) string {
	if digest == "" || s.SeesNoProject() {
		return digest
	}
	d := sha256.New()
	put := func(text string) { d.Write(append(binary.AppendUvarint(nil, uint64(len(text))), text...)) }
	put(digest)
	put(visible.whose)
	if s.URL == "" {
		put(shared.machineOf(s).WorkingDir(s.Program(), visible.roots))
		put(visible.boundary.WhyOpen)
		for _, r := range visible.boundary.Areas {
			if !slices.ContainsFunc(visible.roots, func(root guard.Root) bool { return root.Path == r.Path }) {
				put(r.Path)
			}
		}
	}
	put("roots")
	for _, r := range visible.roots {
		put(r.Path)
	}
	return hex.EncodeToString(d.Sum(nil))
}

// recallOffer returns what a child of this Spec offered last to the clients of this Key when it could see the same;
// nil if that is not known. If it was never listed for them, they get what it offered a client of the same
// principal without capabilities. That is a guess if they have capabilities: some servers offer more tools to a
// client that can be asked. A child may offer each principal something else, so no one gets a guess from the list
// of another. seen is the digest of the Spec with what can be seen.
func (shared *common) recallOffer(seen string, s spec.Spec, k spec.Key, visible sights) (o *offers.RawOffer, isGuess bool) {
	if o := shared.memory.Recall(s.Name, seen); o != nil {
		return o, false
	}
	plain, ok := shared.plainDigest(s, k)
	if !ok {
		return nil, false
	}
	o = shared.memory.Recall(s.Name, shared.narrowDigest(plain, s, visible))
	return o, o != nil && !bytes.Equal(s.Capabilities(nil), s.Capabilities(shared.clientProfile(k).Capabilities))
}

// recallManner returns how a child of this Spec was spoken to last by the clients of an offerDigest; nil if that is not known.
func (shared *common) recallManner(s spec.Spec, digest string) *offers.RawOffer {
	return shared.memory.Recall(mannerOf(s), mannerDigest(digest))
}

// mannerOf names manners in the memory, beside the offers of the same Spec.
func mannerOf(s spec.Spec) string { return s.Name + " manner" }

// mannerDigest is another digest than an offer's: what sees no project has this one's for its offer.
func mannerDigest(digest string) string {
	if digest == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("manner " + digest))
	return hex.EncodeToString(sum[:])
}

// recallManner starts the life of an instance: it looks up how the child was spoken to last.
func (child *childInstance) recallManner() {
	child.manner = child.common.recallManner(child.spec, child.currentDigest(child.currentWanted().looks))
	child.history.spokenEra = eraOf(child.manner)
	if child.startsLazily() {
		child.setState(Cold, "")
	}
}

// currentDigest returns the offerDigest of the child as it is now. The starts of a burst, which share looks, look at a program once.
func (child *childInstance) currentDigest(looks *sandbox.LstatCache) string {
	m := child.baseMachine()
	if looks := looks.InBurst(); looks != nil {
		m = m.WithLooks(looks)
	}
	return child.common.offerDigest(m, child.spec, child.key)
}

// visibleSights returns what the instance can see with what is wanted.
func (child *childInstance) visibleSights(w wantedState) sights {
	return sights{w.Roots, w.boundary, w.whose}
}

// publishRecalled publishes what the child offered last when it could see what it would see now, unless it was listed in this instance when
// it could see the same. An instance that may wait for a call does so from here on. One that does not run, and of which nothing is known
// with other roots, is listed again.
func (child *childInstance) publishRecalled(w wantedState) {
	known := w.Known || w.assumed || child.spec.SeesNoProject()
	if !known || child.history.recalled && child.history.recalledFor == w.Gen {
		return
	}
	child.history.recalled, child.history.recalledFor = true, w.Gen
	seen := child.common.narrowDigest(child.currentDigest(w.looks), child.spec, child.visibleSights(w))
	if child.history.wasGreeted && child.history.offeredFor == seen && (seen != "" || child.spec.SeesNoProject()) {
		return
	}
	child.history.wasGreeted, child.history.wasListed = false, false
	formerOffer := child.offer
	child.history.offeredFor = seen
	child.offer, child.history.offerIsGuess = child.common.recallOffer(seen, child.spec, child.key, child.visibleSights(w))
	state := child.snapshot.Load().status.State
	switch {
	case child.startsLazily() && (state == Configured || state == Waiting):
		child.setState(Cold, "")
	case (state == Stopped || state == Cold) && formerOffer != nil && child.offer == nil && !child.startsLazily():
		child.setState(Configured, "")
	case child.offer != formerOffer:
		child.publishSnapshot(func(*instanceSnapshot) {})
	}
	if formerOffer != nil && child.offer == nil && !child.startsLazily() {
		child.noteShouldRun()
	}
}

// startsLazily reports whether the child is started by a call only. A child of which nothing is
// known, or what it offers these clients is a guess, is so only where StartCalled says so.
func (child *childInstance) startsLazily() bool {
	return child.spec.Start == spec.StartCalled || child.spec.Start == spec.StartLazy && child.offer != nil && !child.history.offerIsGuess
}

// takeOffer takes in what the child offers. The former offer stays if the two are
// equal. An offer that was cut is not remembered for others, nor is one that a run listed
// after its roots had changed. Nor is that of a child
// that is spoken to without a handshake because it exited during one, since that may
// have been an accident.
func (child *childInstance) takeOffer(o *offers.RawOffer) {
	child.history.wasGreeted, child.history.spokenEra, child.history.lives, child.history.offerIsGuess = true, eraOf(o), o.Lives, false
	child.history.wasListed = child.history.wasListed || !o.Lacks(offers.Tools)
	if child.history.offeredFor == child.history.sightsDigest || child.history.sightsDigest == "" {
		o = o.Filled(child.offer) // else what it offered is of other roots
	}
	child.reportRedefined(o)
	child.manner = o.Manner()
	if child.currentWanted().Gen != child.history.plannedGen && !child.spec.SeesNoProject() {
		child.history.sightsDigest = "" // it is told about other roots, and its list may be of either
	}
	child.history.offeredFor = child.history.sightsDigest
	if !o.IsWhole() || child.history.diedInEra == spec.EraLegacy {
		child.offer = o
		return
	}
	child.manner = child.common.memory.Agree(mannerOf(child.spec), mannerDigest(child.history.digest), child.manner)
	if agreed := child.common.memory.Agree(child.spec.Name, child.history.sightsDigest, o); !child.offer.Equal(agreed) {
		child.offer = agreed
	}
}

// reportRedefined reports tools to which this offer gives a definition that they never had, before
// anybody can call them.
func (child *childInstance) reportRedefined(o *offers.RawOffer) {
	changed := child.common.definitions.Compare(child.spec.Identity(), o)
	if len(changed) > 0 && child.common.Redefined != nil {
		child.common.Redefined(child.key, changed)
	}
}

// keepAfter is how long what a child offers is not written down after it is ready: the
// ones that are still starting need the machine more.
const keepAfter = 2 * time.Second

// keepOffer writes down what the child offers and how it is spoken to, if that is news.
func (child *childInstance) keepOffer() {
	child.common.definitions.Keep(child.spec.Identity())
	child.common.memory.Keep(mannerOf(child.spec))
	child.common.memory.Keep(child.spec.Name)
}
