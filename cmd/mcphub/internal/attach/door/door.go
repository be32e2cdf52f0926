package door

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/attach"
	"mcphub/internal/caller"
	"mcphub/internal/kept"
)

// Config is what a Door is made of.
type Config struct {
	Endpoint attach.Endpoint
	Dir      string        // the folder of the socket and of the secret
	Idle     time.Duration // Run ends when no one has been attached for so long
	Log      zerolog.Logger
	// Open reports whether hub.json wants sessions to attach.
	Open func() bool
	// Prepare makes ready to serve a Guest. The error is why it is not served here.
	Prepare func(ctx context.Context, g *Guest) (ServeFunc, error)
	// HangUp is called when an adapter gets SIGHUP.
	HangUp func()
}

// ErrLeft is why the ctx of a ServeFunc ends when its adapter has ended, or wants to. Else the hub ends.
var ErrLeft = errors.New("the adapter has left")

// Left is the status of a session that its adapter is to bring to another hub.
const Left = -1

// A ServeFunc serves a Guest until its streams or ctx end, and returns the exit status of its adapter, or Left. The
// descriptors are its to close.
type ServeFunc func(ctx context.Context) (status int)

// A Guest is a session that attaches.
type Guest struct {
	attach.Surroundings
	Adapter, Client caller.Process // Client has started the adapter
	In, Out, Err    int            // descriptors, as they were handed over; nothing was read from them
	Kept            *kept.Files    // of the state of the session, the ServeFunc's to close; nil: it is not kept
}
