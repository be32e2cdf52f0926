package children

import (
	"bytes"
	"time"

	"mcphub/children/offers"
	"mcphub/children/spec"
)

// recall returns what a child of this Spec offered last to the clients of this Key,
// nil if that is not known; exact is whether it was listed for them. If it was never listed for them, they get what it offers,
// by the handshake, to a client of the same principal without capabilities. That is
// a guess if they have capabilities: some servers offer more tools to a client that
// can be asked. A child may offer each principal something else, so nobody gets a
// guess from the list of another.
func (c *common) recall(s spec.Spec, k spec.Key) (o *offers.Offer, exact, guess bool) {
	if o := c.known(s, k); o != nil {
		return o, true, false
	}
	plain := s.Capabilities(nil)
	guess = !bytes.Equal(plain, s.Capabilities(c.client(k).Capabilities))
	o = c.memory.Recall(s.Name, s.Digest(c.machineOf(s), c.Version, spec.EraAuto, append(plain, k.Principal...)))
	return o, false, guess && o != nil
}

// known is recall for the very Key.
func (c *common) known(s spec.Spec, k spec.Key) *offers.Offer {
	return c.memory.Recall(s.Name, c.digest(s, k))
}

// digest names what a child of this Spec offers to the clients of this Key.
func (c *common) digest(s spec.Spec, k spec.Key) string {
	return s.Digest(c.machineOf(s), c.Version, k.Era, append(s.Capabilities(c.client(k).Capabilities), k.Principal...))
}

// recall starts the life of an instance: it publishes what the child offered last.
// An instance that may wait for a call does so from here on.
func (c *child) recall() {
	var exact bool
	if c.offer, exact, c.history.guess = c.common.recall(c.spec, c.key); exact {
		c.history.spoke = eraOf(c.offer)
	}
	switch {
	case c.lazy():
		c.setState(Cold, "")
	case c.offer != nil:
		c.publish(func(*view) {})
	}
}

// lazy reports whether the child is started by a call only. A child of which nothing is
// known, or what it offers these clients is a guess, is so only where StartCalled says so.
func (c *child) lazy() bool {
	return c.spec.Start == spec.StartCalled || c.spec.Start == spec.StartLazy && c.offer != nil && !c.history.guess
}

// offers takes in what the child offers. The former offer stays if the two are
// equal. An offer that was cut is not remembered for others. Nor is that of a child
// that is spoken to without a handshake because it exited during one, since that may
// have been an accident.
func (c *child) offers(o *offers.Offer) {
	c.history.greeted, c.history.spoke, c.history.lives, c.history.guess = true, eraOf(o), o.Lives, false
	c.history.listed = c.history.listed || !o.Lacks(offers.Tools)
	o = o.Filled(c.offer)
	c.compare(o)
	if !o.Whole() || c.history.diedOf == spec.EraLegacy {
		c.offer, c.history.news = o, false
		return
	}
	agreed, news := c.common.memory.Agree(c.spec.Name, c.history.digest, o)
	if !c.offer.Equal(agreed) {
		c.offer = agreed
	}
	c.history.news = news
}

// compare reports tools to which this offer gives a definition that they never had, before
// anybody can call them.
func (c *child) compare(o *offers.Offer) {
	changed := c.common.forms.Compare(c.spec.Identity(), o)
	if len(changed) > 0 && c.common.Redefined != nil {
		c.common.Redefined(c.key, changed)
	}
}

// keepAfter is how long what a child offers is not written down after it is ready: those
// that are still starting need the machine more.
const keepAfter = 2 * time.Second

// keep writes down what the child offers, where that is news.
func (c *child) keep() {
	c.common.forms.Keep(c.spec.Identity())
	if c.history.news {
		c.history.news = false
		c.common.memory.Keep(c.history.digest, c.offer)
	}
}
