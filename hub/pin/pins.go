package pin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"mcphub/children/offers"
	"mcphub/internal/printable"
)

// A Mode is what becomes of a definition that has grown. The zero value refuses it.
type Mode uint8

const (
	Refuse Mode = iota // it is withheld
	Ask                // it is withheld until a person accepts it
	Warn               // it is offered, and the log names it
)

// Accepted are the definitions of a server that a person has accepted since hub.lock was written: their digests, by what they are of. A tool
// stands under its name alone.
type Accepted map[string][]string

// key returns what a Thing stands under in an Accepted.
func (t Thing) key() string {
	if t.Of == nouns[offers.Tools] {
		return t.Name
	}
	return t.Of + "\x00" + t.Name
}

// A Question asks a person about the definitions of one server that have grown.
type Question struct {
	Server string
	Lines  []string // what has changed, for people
	Value  Accepted // what counts if it is accepted
}

// Options are what Pins are made of.
type Options struct {
	Lock     *Lock
	Home     string                          // the home folder, whose path is in no Lock
	Mode     func(server string) Mode        // by the entry of hub.json
	Accepted func(server string) Accepted    // what a person has accepted so far
	Ask      func(q Question) error          // puts a Question to a person, once
	Warn     func(server string, c []Change) // reports what has grown and is offered
}

// Pins answer which definitions are withheld.
type Pins struct{ o Options }

// NewPins returns Pins. Without a Lock nothing is withheld.
func NewPins(o Options) *Pins { return &Pins{o} }

// Withheld returns what of an offer is not to be offered, with the reason of each. It asks a person about it, if the entry of the server says so.
// A server that hub.lock does not have is new, and none of its definitions is withheld.
func (p *Pins) Withheld(server string, offer *offers.RawOffer) map[Thing]string {
	if !p.HasLocked(server) {
		return nil
	}
	now, odd := Of(offer, p.o.Home)
	grown := map[Thing][]Change{}
	for _, c := range Compare(p.o.Lock.Servers[server], now) {
		if c.Grows {
			grown[c.thing()] = append(grown[c.thing()], c)
		}
	}
	for _, thing := range odd {
		delete(now.whole, thing) // no digest can be accepted
		grown[thing] = append(grown[thing], twiceChange(thing))
	}
	if len(grown) == 0 {
		return nil
	}
	return p.decide(server, grown, now)
}

// HasLocked reports whether the Lock has a server.
func (p *Pins) HasLocked(server string) bool {
	return p != nil && p.o.Lock != nil && p.o.Lock.Servers[server] != nil
}

// Changes returns how an offer differs from what the Lock has of the server, whatever a person has accepted since. There is none if the Lock does
// not have the server.
func (p *Pins) Changes(server string, offer *offers.RawOffer) []Change {
	if !p.HasLocked(server) {
		return nil
	}
	now, odd := Of(offer, p.o.Home)
	changes := Compare(p.o.Lock.Servers[server], now)
	for _, thing := range odd {
		changes = append(changes, twiceChange(thing))
	}
	return changes
}

// twiceChange is the Change of what cannot be compared.
func twiceChange(thing Thing) Change {
	return Change{thing.Of, thing.Name, true, "it cannot be compared: it, or a member of its definition, stands twice"}
}

// Holds reports whether a server has no tools but the accepted ones: none that it does not list, either.
func (p *Pins) Holds(server string) bool {
	return p.HasLocked(server) && p.o.Mode(server) != Warn
}

// decide returns what is withheld of what has grown.
func (p *Pins) decide(server string, grown map[Thing][]Change, now *Server) map[Thing]string {
	accepted := p.o.Accepted(server)
	var changes []Change
	ask := Question{Server: server, Value: Accepted{}}
	for name, digests := range accepted {
		ask.Value[name] = slices.Clip(digests)
	}
	withheld := map[Thing]string{}
	for _, thing := range slices.SortedFunc(maps.Keys(grown), func(a, b Thing) int { return cmp.Compare(a.key(), b.key()) }) {
		digest, key := digestOf(now.whole[thing]), thing.key()
		if digest != "" && slices.Contains(accepted[key], digest) {
			continue
		}
		changes = append(changes, grown[thing]...)
		withheld[thing] = "it has grown since hub.lock was written: " + grown[thing][0].What
		for _, c := range grown[thing] {
			ask.Lines = append(ask.Lines, c.Text())
		}
		if digest != "" {
			ask.Value[key] = append(ask.Value[key], digest)
		}
	}
	switch mode := p.o.Mode(server); {
	case len(changes) == 0:
		return nil
	case mode == Warn:
		p.o.Warn(server, changes)
		return nil
	case mode == Ask:
		// A client reads this, too: a model that has a shell could run a command that accepts.
		cure := "; it waits for your user (`mcphub status` shows what to do)"
		if err := p.o.Ask(ask); err != nil {
			cure = "; it cannot be asked: " + printable.Escape(err.Error(), 200)
		}
		for thing := range withheld {
			withheld[thing] += cure
		}
	default:
		for thing := range withheld {
			withheld[thing] += "; hub.json refuses that (changes)"
		}
	}
	return withheld
}

// digestOf returns the digest of a definition; "" if there is none that can be compared.
func digestOf(def []byte) string {
	if len(def) == 0 {
		return ""
	}
	sum := sha256.Sum256(def)
	return hex.EncodeToString(sum[:])
}

// ParseAccepted reads what Format wrote. What cannot be read accepts nothing.
func ParseAccepted(text []byte) (a Accepted) {
	if json.Unmarshal(text, &a) != nil {
		return nil
	}
	return a
}

// Format returns the text that ParseAccepted reads.
func (accepted Accepted) Format() []byte {
	text, _ := json.Marshal(accepted) // of strings
	return text
}
