package children

import (
	"context"

	"github.com/rs/zerolog"

	"mcphub/internal/jsonrpc"
)

// A Link is the raw connection to one run of one child, whatever the
// transport. Calls may be made from any goroutine once Run runs.
type Link interface {
	// Run serves the connection until the child has gone or ctx ends, which
	// stops the child in an orderly way. It returns when nothing of this run is
	// left: process, pipes, goroutines. The error says how the child ended when
	// that was not asked for; nil means that it was.
	Run(ctx context.Context) error
	// Call sends one request; params are parts of one raw JSON value. When ctx
	// ends the child is told (notifications/cancelled) and its cause returned.
	Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error)
	// Notify sends one notification.
	Notify(ctx context.Context, method string, params ...[]byte) error
	// Facts tells what can be seen of the run from outside, at any time.
	Facts() Facts
}

// Facts is what can be seen of one run of a child.
type Facts struct {
	PID     int    // 0 where there is no process
	Stderr  string // its last words, plain text
	Skipped uint64 // lines that were no message
	Heard   uint64 // grows while the child is heard of, whatever it says
}

// A Launcher starts runs of children.
type Launcher interface {
	// Launch starts what l says and returns the Link to it, whose Run the caller
	// must call. h serves what the child sends; it may be called before Launch
	// returns, but not before Run.
	Launch(l Launch, s Spec, h jsonrpc.Handler, log zerolog.Logger) (Link, error)
}

// byURL launches what a Spec says.
type byURL struct{}

// Launch leaves it to the Launcher that the Spec is for.
func (byURL) Launch(l Launch, s Spec, h jsonrpc.Handler, log zerolog.Logger) (Link, error) {
	if s.URL != "" {
		return Remote{}.Launch(l, s, h, log)
	}
	return Stdio{}.Launch(l, s, h, log)
}

// Stdio launches children as processes that speak on stdin and stdout.
type Stdio struct{}

// Launch starts the process.
func (Stdio) Launch(l Launch, s Spec, h jsonrpc.Handler, log zerolog.Logger) (Link, error) {
	p, err := startProcess(l, log)
	if err != nil {
		return nil, err
	}
	return newStdioLink(p, s, h, log), nil
}
