package children

import "mcphub/internal/jsonrpc"

// A Client is what an instance is shown of whom it serves. The zero Client is
// nobody in particular: one that cannot be asked anything but roots/list.
type Client struct {
	// Capabilities is what the client declared, a raw JSON object; roots in it
	// are left out, for whether an instance is served those is its Spec's
	// business. Servers offer other tools to other clients.
	Capabilities []byte
	// Level is the log level that the client wants (logging/setLevel); "" where
	// it has not said.
	Level string
}

// client tells whom an instance serves.
func (n *common) client(k Key) Client {
	if n.asks == nil {
		return Client{}
	}
	return n.asks(k)
}

// shown is the raw object of capabilities that an instance is shown which serves
// a client.
func shown(s Spec, c Client) []byte {
	b := []byte{'{'}
	if s.Roots != RootsNone {
		b = append(b, `"roots":{"listChanged":true}`...)
	}
	return append(jsonrpc.AppendMembers(b, c.Capabilities, func(name string) bool { return name != "roots" }), '}')
}
