package catalog

import (
	"slices"
	"sync"

	"mcphub/children/offers"
	"mcphub/hub/toolset"
)

// This file leaves out of what children offer what the toolsets of a session do not show. What is left out is not there: it is
// answered as a name that no server has.

// For returns a Builder of catalogues that hold what a View shows. It takes over what b reads. A nil View gives b.
func (b *Builder) For(toolsetView *toolset.View) *Builder {
	if toolsetView == nil {
		return b
	}
	cfg := b.cfg
	cfg.Children = nil
	for _, c := range b.cfg.Children {
		if toolsetView.ShowsServer(c.Name) {
			c.toolsetView = toolsetView
			cfg.Children = append(cfg.Children, c)
		}
	}
	out := NewBuilder(cfg)
	out.reader = b.reader
	return out
}

// shown has the last that was shown of each child: sessions that have it in common share their catalogues.
type shown struct {
	mu   sync.Mutex
	last map[string]*Offer
}

// Show returns what of an offer is in the catalogues of b: nil for a child that is not there, and the offer itself if nothing is left out.
func (b *Builder) Show(o *Offer) *Offer {
	if o == nil || b.reader == b {
		return o.Whole()
	}
	o = o.Whole()
	c := b.byName[o.child]
	if c == nil {
		return nil
	}
	b.shown.mu.Lock()
	defer b.shown.mu.Unlock()
	if last := b.shown.last[o.child]; last.Whole() == o {
		return last
	}
	if b.shown.last == nil {
		b.shown.last = map[string]*Offer{}
	}
	b.shown.last[o.child] = o.shownBy(c)
	return b.shown.last[o.child]
}

// Whole returns the offer of which o is what a toolset shows; o itself if it is whole.
func (o *Offer) Whole() *Offer {
	if o == nil || o.whole == nil {
		return o
	}
	return o.whole
}

// shownBy makes what is shown of an offer.
func (o *Offer) shownBy(c *Child) *Offer {
	out := *o
	out.whole = o
	out.Tools = slices.DeleteFunc(slices.Clone(o.Tools), func(t *Tool) bool { return !c.toolsetView.ShowsTool(o.child, t.OwnName) })
	complete := len(out.Tools) == len(o.Tools) && !slices.ContainsFunc(o.Omitted, func(left Omission) bool { return !c.toolsetView.ShowsTool(o.child, left.Name) })
	hides := c.hidesOthers()
	for k := offers.Prompts; k < offers.Kinds; k++ {
		out.items[k] = slices.DeleteFunc(slices.Clone(o.items[k]), func(it *Item) bool {
			return hides || k == offers.Prompts && !c.toolsetView.ShowsPrompt(o.child, it.OwnName)
		})
		complete = complete && len(out.items[k]) == len(o.items[k])
	}
	switch {
	case hides:
		out.extensions, out.skillful, out.claimed = nil, false, nil
	case complete:
		return o
	}
	out.Omitted, out.Mended, out.Hidden = nil, nil, nil // they name what is not shown
	out.apps = out.appURIs()
	return &out
}

// hidesOthers reports whether nothing of a child is shown but some of its tools, and what these show their results by.
func (child *Child) hidesOthers() bool { return !child.toolsetView.ShowsWhole(child.Name) }

// ShowsOthers reports whether more of a child is there than some of its tools: prompts, resources, extensions, and what it says about itself.
func (b *Builder) ShowsOthers(child string) bool {
	c := b.byName[child]
	return c != nil && !c.hidesOthers()
}
