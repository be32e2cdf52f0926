package hub

import (
	"context"
	"time"

	"mcphub/hub/catalog"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// together is how long news is held back for more of it: when many children
// start, the client is told once.
const together = 30 * time.Millisecond

// poke makes sure that c holds a token.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// announce tells the client of lists that have changed since it asked for them,
// and makes subscriptions anew at children that were started again.
func (s *Session) announce(ctx context.Context) {
	pause := time.NewTimer(together)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return
	}
	for _, method := range s.changedLists() {
		_ = s.client.Notify(ctx, method) // it must not be lost to a flood of other things
	}
	s.modern.hears.changed(ctx, s.digests)
	s.mu.Lock()
	again := s.tab.restarted
	s.tab.restarted = nil
	s.mu.Unlock()
	for _, child := range again {
		s.announcer.ended.Go(func() { s.resubscribe(ctx, child) }) // which may have to start it
	}
}

// changedLists returns the notifications that are due, and notes that they were
// sent.
func (s *Session) changedLists() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tab.initialized {
		return nil
	}
	var due []string
	for k := catalog.Tools; k < catalog.Kinds; k++ {
		known := s.tab.lists.known[k]
		if known == "" {
			continue
		}
		if now := s.toolsNow().Pages(k).Digest; now != known {
			s.tab.lists.known[k] = now
			if method := k.Changed(); len(due) == 0 || due[len(due)-1] != method {
				due = append(due, method)
			}
		}
	}
	return due
}

// withInstructions adds what the children say of themselves, as far as it is
// known by now, each under its name (H1).
func (s *Session) withInstructions(result []byte) []byte {
	own := jsonrpc.Get(result, "instructions")
	text, ok := jsonrpc.String(own)
	if !ok {
		return result
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.tab.gen.names() {
		offer := s.tab.offers[name]
		if offer == nil || offer.Raw.Instructions == "" {
			continue
		}
		said := clipText(printable.Clean(offer.Raw.Instructions), maxInstructions)
		if len(text)+len(said) > maxAllInstructions {
			break
		}
		text += "\n\n## " + shown(name, 100) + "\n\n" + said
	}
	return join(splice(result, edit{Old: own, With: jsonrpc.AppendString(nil, text)}))
}

// Bounds of one child's instructions and of all together, in bytes.
const (
	maxInstructions    = 8 << 10
	maxAllInstructions = 64 << 10
)

// clipText cuts a text at a bound, at the end of a rune.
func clipText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most] + " ..."
}
