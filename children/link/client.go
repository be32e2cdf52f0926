package link

import "context"

// A ClientProfile is what a child is shown of the client that it serves. The zero ClientProfile
// is no one in particular: a client that cannot be asked anything but roots/list.
type ClientProfile struct {
	// Capabilities is what the client declared, a raw JSON object; roots in it
	// are left out, for whether an instance is served those is its Spec's
	// business. Servers offer other tools to other clients.
	Capabilities []byte
	// Level is the log level that the client wants (logging/setLevel); "" if it
	// has not said.
	Level string
}

// clientKey is where WithClient keeps a ClientProfile.
type clientKey struct{}

// WithClient returns for whom calls with this context are made, if that is not
// the client of the instance: a child without a handshake is told with each
// request what the client of that request can do.
func WithClient(ctx context.Context, c ClientProfile) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf returns what WithClient was given.
func ClientOf(ctx context.Context) (c ClientProfile, ok bool) {
	c, ok = ctx.Value(clientKey{}).(ClientProfile)
	return c, ok
}
