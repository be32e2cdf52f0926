package children

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"

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

// offerDigest names what a child of this Spec offers to the clients of this Key, wherever it works.
func (c *common) offerDigest(s spec.Spec, k spec.Key) string {
	return s.Digest(c.machineOf(s), c.Version, k.Era, append(s.Capabilities(c.clientProfile(k).Capabilities), k.Principal...))
}

// plainDigest works like offerDigest for a client of the same principal without capabilities, by the handshake.
// ok is false if it is the same.
func (c *common) plainDigest(s spec.Spec, k spec.Key) (digest string, ok bool) {
	plain := s.Capabilities(nil)
	if k.Era == spec.EraAuto && bytes.Equal(plain, s.Capabilities(c.clientProfile(k).Capabilities)) {
		return "", false
	}
	return s.Digest(c.machineOf(s), c.Version, spec.EraAuto, append(plain, k.Principal...)), true
}

// narrowDigest narrows a digest to what an instance can see: its roots, which name the directories of rules
// and grants too, its working directory, and whether any boundary holds it. A server at a URL that
// is served no roots is on another machine and sees none of that.
func (c *common) narrowDigest(digest string, s spec.Spec, visible sights) string {
	if digest == "" || s.SeesNoProject() {
		return digest
	}
	d := sha256.New()
	put := func(text string) { d.Write(append(binary.AppendUvarint(nil, uint64(len(text))), text...)) }
	put(digest)
	put(visible.whose)
	if s.URL == "" {
		put(c.machineOf(s).WorkingDir(s.Program(), visible.roots))
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
func (c *common) recallOffer(seen string, s spec.Spec, k spec.Key, visible sights) (o *offers.RawOffer, isGuess bool) {
	if o := c.memory.Recall(s.Name, seen); o != nil {
		return o, false
	}
	plain, ok := c.plainDigest(s, k)
	if !ok {
		return nil, false
	}
	o = c.memory.Recall(s.Name, c.narrowDigest(plain, s, visible))
	return o, o != nil && !bytes.Equal(s.Capabilities(nil), s.Capabilities(c.clientProfile(k).Capabilities))
}

// recallManner returns how a child of this Spec was spoken to last by the clients of this Key; nil if that is not known.
func (c *common) recallManner(s spec.Spec, k spec.Key) *offers.RawOffer {
	return c.memory.Recall(mannerOf(s), mannerDigest(c.offerDigest(s, k)))
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
func (c *childInstance) recallManner() {
	c.manner = c.common.recallManner(c.spec, c.key)
	c.history.spoke = eraOf(c.manner)
	if c.startsLazily() {
		c.setState(Cold, "")
	}
}

// visibleSights returns what the instance can see with what is wanted.
func (c *childInstance) visibleSights(w wantedState) sights {
	return sights{w.Roots, w.boundary, w.whose}
}

// publishRecalled publishes what the child offered last when it could see what it would see now, unless it was listed in this instance when
// it could see the same. An instance that may wait for a call does so from here on. One that does not run, and of which nothing is known
// with other roots, is listed again.
func (c *childInstance) publishRecalled(w wantedState) {
	known := w.Known || w.assumed || c.spec.SeesNoProject()
	if !known || c.history.recalled && c.history.recalledFor == w.Gen {
		return
	}
	c.history.recalled, c.history.recalledFor = true, w.Gen
	seen := c.common.narrowDigest(c.common.offerDigest(c.spec, c.key), c.spec, c.visibleSights(w))
	if c.history.greeted && c.history.offered == seen && (seen != "" || c.spec.SeesNoProject()) {
		return
	}
	c.history.greeted, c.history.listed = false, false
	formerOffer := c.offer
	c.history.offered = seen
	c.offer, c.history.offerIsGuess = c.common.recallOffer(seen, c.spec, c.key, c.visibleSights(w))
	state := c.snapshot.Load().status.State
	switch {
	case c.startsLazily() && (state == Configured || state == Waiting):
		c.setState(Cold, "")
	case (state == Stopped || state == Cold) && formerOffer != nil && c.offer == nil && !c.startsLazily():
		c.setState(Configured, "")
	case c.offer != formerOffer:
		c.publishSnapshot(func(*instanceSnapshot) {})
	}
	if formerOffer != nil && c.offer == nil && !c.startsLazily() {
		c.noteShouldRun()
	}
}

// startsLazily reports whether the child is started by a call only. A child of which nothing is
// known, or what it offers these clients is a guess, is so only where StartCalled says so.
func (c *childInstance) startsLazily() bool {
	return c.spec.Start == spec.StartCalled || c.spec.Start == spec.StartLazy && c.offer != nil && !c.history.offerIsGuess
}

// takeOffer takes in what the child offers. The former offer stays if the two are
// equal. An offer that was cut is not remembered for others, nor is one that a run listed
// after its roots had changed. Nor is that of a child
// that is spoken to without a handshake because it exited during one, since that may
// have been an accident.
func (c *childInstance) takeOffer(o *offers.RawOffer) {
	c.history.greeted, c.history.spoke, c.history.lives, c.history.offerIsGuess = true, eraOf(o), o.Lives, false
	c.history.listed = c.history.listed || !o.Lacks(offers.Tools)
	if c.history.offered == c.history.sightsDigest || c.history.sightsDigest == "" {
		o = o.Filled(c.offer) // else what it offered is of other roots
	}
	c.reportRedefined(o)
	c.manner = o.Manner()
	if c.currentWanted().Gen != c.history.planned && !c.spec.SeesNoProject() {
		c.history.sightsDigest = "" // it is told about other roots, and its list may be of either
	}
	c.history.offered = c.history.sightsDigest
	if !o.IsWhole() || c.history.diedOf == spec.EraLegacy {
		c.offer = o
		return
	}
	c.manner = c.common.memory.Agree(mannerOf(c.spec), mannerDigest(c.history.digest), c.manner)
	if agreed := c.common.memory.Agree(c.spec.Name, c.history.sightsDigest, o); !c.offer.Equal(agreed) {
		c.offer = agreed
	}
}

// reportRedefined reports tools to which this offer gives a definition that they never had, before
// anybody can call them.
func (c *childInstance) reportRedefined(o *offers.RawOffer) {
	changed := c.common.forms.Compare(c.spec.Identity(), o)
	if len(changed) > 0 && c.common.Redefined != nil {
		c.common.Redefined(c.key, changed)
	}
}

// keepAfter is how long what a child offers is not written down after it is ready: the
// ones that are still starting need the machine more.
const keepAfter = 2 * time.Second

// keepOffer writes down what the child offers and how it is spoken to, if that is news.
func (c *childInstance) keepOffer() {
	c.common.forms.Keep(c.spec.Identity())
	c.common.memory.Keep(mannerOf(c.spec))
	c.common.memory.Keep(c.spec.Name)
}
