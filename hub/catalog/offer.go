package catalog

import (
	"fmt"
	"slices"
	"strings"

	"mcphub/children/offers"
	"mcphub/hub/pin"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// An Offer is what one child offers, read: each tool with the name it would
// have if no other wanted it. It never changes and may serve many catalogues.
type Offer struct {
	Raw     *offers.RawOffer
	Tools   []*Tool
	Omitted []Omission
	Mended  []Omission // what is offered in another form than the child gave it
	Hidden  []string   // tools that hub.json excludes, as the child calls them

	Instructions string // of the child for clients

	child      string
	by         *Builder              // that read it
	whole      *Offer                // of which it is what a toolset shows; nil: it is whole itself
	items      [offers.Kinds][]*Item // but for tools
	extensions []extension
	apps       []string // URIs of apps: see appURIs
	skillful   bool     // it has the extension for skills
	claimed    []claim  // URIs of skills
}

// An Omission is a tool, or another thing, that a child defines and that is not
// offered, or not as it is, and why.
type Omission struct{ Name, Reason string }

// Read reads what a child of the configuration listed. It compiles schemas, so it
// may take a while.
func (b *Builder) Read(name string, raw *offers.RawOffer) *Offer {
	if b.reader != b {
		return b.Show(b.reader.Read(name, raw))
	}
	child := b.byName[name]
	out := &Offer{Raw: raw, child: name, by: b}
	seen := map[string]bool{}
	bytes := 0
	withheld := b.cfg.Pins.Withheld(name, raw)
	for i, entry := range raw.Entries[offers.Tools] {
		t, reason := b.makeTool(child, raw, entry)
		if reason == excludedByOperator {
			out.Hidden = append(out.Hidden, t.OwnName)
			continue
		}
		bytes += len(entry)
		switch {
		case reason != "":
		case seen[t.OwnName]:
			reason = "a second tool of this name; the first one counts"
		case bytes > b.cfg.Limit:
			reason = b.tooMuch(offers.Tools)
		default:
			reason = withheld[pin.ThingOf(offers.Tools, t.OwnName)]
		}
		if reason != "" {
			label := fmt.Sprintf("entry %d", i+1)
			if t != nil {
				label = t.OwnName
			}
			out.Omitted = append(out.Omitted, Omission{label, reason})
			continue
		}
		seen[t.OwnName] = true
		out.Tools = append(out.Tools, t)
		out.Mended = appendMended(out.Mended, t.OwnName, t.mended)
	}
	out.dropCollisions()
	for k := offers.Prompts; k < offers.Kinds; k++ {
		out.readItems(k, child, raw.Entries[k], withheld)
	}
	if reason := withheld[pin.Instructions]; reason != "" {
		out.Omitted = append(out.Omitted, Omission{pin.Instructions.Of, reason})
	} else {
		out.Instructions = raw.Instructions
	}
	var omitted []Omission
	out.extensions, omitted = readExtensions(raw.Capabilities)
	out.Omitted, out.apps = append(out.Omitted, omitted...), out.appURIs()
	out.skillful, out.claimed = offers.DeclaresExtension(raw.Capabilities, methods.ExtensionSkills), out.listClaims()
	return out
}

// appendMended appends one line for all that was mended in a definition.
func appendMended(all []Omission, name string, mended []string) []Omission {
	if len(mended) == 0 {
		return all
	}
	return append(all, Omission{name, strings.Join(mended, "; ")})
}

// tooMuch returns the reason of what is beyond the bound of one kind.
func (b *Builder) tooMuch(k offers.ListKind) string {
	return fmt.Sprintf(`the %ss of this server have more than %d bytes together ("limits": {"definitions": ...} in hub.json)`, k.List().Noun, b.cfg.Limit)
}

// ReadBy reports whether b, or what b is For a View of, read the offer.
func (o *Offer) ReadBy(b *Builder) bool { return o.by == b.reader }

// NamesAlike reports whether b gives the tools of the offer the same names as the
// Builder that read it, and as much of their definitions. What a toolset shows of them is another matter.
func (o *Offer) NamesAlike(b *Builder) bool {
	was, now := o.by.byName[o.child], b.byName[o.child]
	return was != nil && now != nil && was.Prefix == now.Prefix && was.CutsResults == now.CutsResults && b.cfg.Names == o.by.cfg.Names &&
		slices.Equal(was.Include, now.Include) && slices.Equal(was.Exclude, now.Exclude) && was.Words.isEqual(&now.Words)
}

// Tokens returns about how many tokens the definitions of its tools take where they are listed.
func (o *Offer) Tokens() (all int) {
	for _, t := range o.Tools {
		all += Tokens(t.Def)
	}
	return all
}

// Child returns the name of the child that made the offer.
func (o *Offer) Child() string { return o.child }

// Revision returns the revision of the child which made the offer.
func (o *Offer) Revision() uint64 { return o.by.byName[o.child].Revision }

// TemplatesOf returns all templates of an offer, those too that are not listed: the
// child reads by them.
func TemplatesOf(o *offers.RawOffer) []string {
	var all []string
	for _, raw := range o.Entries[offers.Templates] {
		if t, ok := jsonrpc.GetString(raw, offers.Templates.List().Key); ok {
			all = append(all, t)
		}
	}
	return all
}
