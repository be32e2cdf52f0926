package hub

import (
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// withInstructions adds what the children say of themselves, as far as it is
// known by now, each under its name.
func (s *Session) withInstructions(result []byte) []byte {
	own := jsonrpc.Get(result, "instructions")
	text, ok := jsonrpc.String(own)
	if !ok {
		return result
	}
	g, offers := s.Offers()
	for _, name := range g.ChildNames() {
		offer := offers[name]
		if offer == nil || offer.Raw.Instructions == "" {
			continue
		}
		said := clipText(printable.Clean(offer.Raw.Instructions), maxInstructions)
		if len(text)+len(said) > maxAllInstructions {
			break
		}
		text += "\n\n## " + printable.Escape(name, 100) + "\n\n" + said
	}
	return jsonrpc.Join(jsonrpc.Splice(result, jsonrpc.Edit{Old: own, With: jsonrpc.AppendString(nil, text)}))
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
