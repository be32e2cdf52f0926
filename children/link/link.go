package link

import (
	"context"

	"mcphub/internal/jsonrpc"
)

// A ChildConnection is the raw connection to one run of one child, whatever the
// transport. Calls may be made from any goroutine once Run runs.
type ChildConnection interface {
	// Run serves the connection until the child has gone or ctx ends, which
	// stops the child in an orderly way. It returns when no part of this run is
	// left: process, pipes, goroutines. The error reports how the child ended
	// when that was not asked for; nil means that it was.
	Run(ctx context.Context) error
	// Call sends one request; params are parts of one raw JSON value. When ctx
	// ends the child is told (notifications/cancelled) and its cause returned.
	Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error)
	// Notify sends one notification.
	Notify(ctx context.Context, method string, params ...[]byte) error
	// Facts returns what can be seen of the run from outside, at any time.
	Facts() ConnectionFacts
}

// ConnectionFacts is what can be seen of one run of a child.
type ConnectionFacts struct {
	PID     int    // 0 if there is no process
	Stderr  string // its last words, plain text
	Skipped uint64 // lines that were no message
	TextIDs uint64 // answers that repeat the number of their request as a string
	Heard   uint64 // grows while the child is heard of, whatever it says
	Bounds  Bounds
}

// Bounds says who keeps a run to the limits of its entry, or to the ones that a server without limits has. The zero value: it has not been
// started.
type Bounds struct {
	By        Bounder
	Why       string // why the kernel does not keep it to more
	Memory    int64  // what it is kept to, in bytes; 0: to no limit
	Processes int    // likewise
}

// A Bounder keeps a run to its limits.
type Bounder string

// Who may keep a run to its limits.
const (
	ByControlGroup Bounder = "control group" // the kernel: what is beyond is never had
	ByJob          Bounder = "job"           // of Windows; likewise
	ByWatchdog     Bounder = "watchdog"      // the hub looks at intervals, and ends it
	ByNobody       Bounder = "nobody"
)

// A StatelessConnection can also carry requests without a handshake before them
// (2026-07-28), by another ChildConnection to the same server.
type StatelessConnection interface {
	// Stateless returns that ChildConnection, whose Run is this one's; nil if the transport
	// has none.
	Stateless() ChildConnection
}

// A ToolsLearner is a ChildConnection that has to know the tools of a server to send their
// calls. It leaves out the ones that no one could call; odd reports why.
type ToolsLearner interface {
	LearnTools(tools [][]byte) (good [][]byte, odd []string)
}
