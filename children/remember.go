package children

import (
	"mcphub/children/offers"
)

// recall returns what a child of this Spec offered last to the clients of this Key,
// nil if that is not known. If it was never listed for clients without a handshake,
// they get what it offers, by the handshake, to a client without capabilities.
func (n *common) recall(s Spec, k Key) *offers.Offer {
	o := n.known(s, k)
	if o == nil && s.Era == EraAuto && k.Era == EraModern {
		o = n.memory.Recall(s.Name, s.Digest(n.machine, n.version, EraAuto, append(s.Capabilities(nil), k.Principal...)))
	}
	return o
}

// known is recall for the very Key.
func (n *common) known(s Spec, k Key) *offers.Offer { return n.memory.Recall(s.Name, n.digest(s, k)) }

// digest names what a child of this Spec offers to the clients of this Key.
func (n *common) digest(s Spec, k Key) string {
	return s.Digest(n.machine, n.version, k.Era, append(s.Capabilities(n.client(k).Capabilities), k.Principal...))
}

// recall starts the life of an instance: it publishes what the child offered last.
// An instance that may wait for a call does so from here on.
func (c *child) recall() {
	if c.offer = c.common.recall(c.spec, c.key); c.offer == nil {
		return
	}
	c.past.spoke = eraOf(c.common.known(c.spec, c.key))
	if c.lazy() {
		c.state(Cold, "")
		return
	}
	c.publish(func(*view) {})
}

// lazy reports whether the child is started by a call only.
func (c *child) lazy() bool { return c.spec.Start == StartLazy && c.offer != nil }

// offers takes in what the child offers. The former offer stays if the two are
// equal. An offer that was cut is not remembered for others. Nor is that of a child
// that is spoken to without a handshake because it exited during one, since that may
// have been an accident.
func (c *child) offers(o *offers.Offer) {
	c.past.listed, c.past.spoke, c.past.lives = true, eraOf(o), o.Lives
	c.compare(o)
	if !o.Whole() || c.past.diedOf == EraLegacy {
		c.offer, c.past.news = o, false
		return
	}
	agreed, news := c.common.memory.Agree(c.spec.Name, c.past.digest, o)
	if !c.offer.Equal(agreed) {
		c.offer = agreed
	}
	c.past.news = news
}

// compare reports tools to which this offer gives a definition that they never had.
func (c *child) compare(o *offers.Offer) {
	changed := c.common.forms.Compare(c.spec.Entry(), o)
	if len(changed) > 0 && c.common.changed != nil {
		c.common.changed(c.key, changed)
	}
}

// keep caches the offer where that is news.
func (c *child) keep() {
	if c.past.news {
		c.past.news = false
		c.common.memory.Keep(c.past.digest, c.offer)
	}
}
