package children

import (
	"mcphub/children/modern"
	"mcphub/internal/jsonrpc"
)

// client tells whom an instance serves.
func (n *common) client(k Key) modern.Client {
	if n.asks == nil {
		return modern.Client{}
	}
	return n.asks(k)
}

// shown is the raw object of capabilities that an instance is shown which serves
// a client.
func shown(s Spec, c modern.Client) []byte {
	b := []byte{'{'}
	if s.Roots != RootsNone {
		b = append(b, `"roots":{"listChanged":true}`...)
	}
	return append(jsonrpc.AppendMembers(b, c.Capabilities, func(name string) bool { return name != "roots" }), '}')
}
