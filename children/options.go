package children

import (
	"context"

	"github.com/rs/zerolog"

	"mcphub/children/limits"
	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/children/remote"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/reference"
)

// DefaultMaxChildren bounds how many children run at a time if SupervisorOptions do not.
const DefaultMaxChildren = limits.DefaultMaxChildren

// SupervisorOptions shape a Supervisor. Specs and Version are needed, the rest has
// defaults.
type SupervisorOptions struct {
	Specs       []spec.Spec
	Log         zerolog.Logger
	Version     string   // of the hub, told to children
	MaxStarting int      // 0: limits.DefaultMaxStarting
	MaxChildren int      // running at a time; 0: DefaultMaxChildren
	MaxEach     int      // running at a time of one principal; 0: as many
	Environ     []string // what children inherit from; nil: this process's
	Home, Dir   string   // "": this user's home, this process's working directory
	Launcher    Launcher // nil: ByURL
	Cache       string   // folder for what children offered last, made when needed; "": nothing is kept

	// Renew has packages of confined children that are not pinned looked up before they
	// are started. Otherwise the copy that is installed is started at once, and it is
	// looked for a newer one in the background.
	Renew bool

	// Changed, where set, is told about every change of state, every new offer and every
	// session that was started again. offer is what the child offered last, be it in an
	// earlier run; nil while that is not known. The same offer is the same pointer. It is
	// called by the instance's goroutine and must not block.
	Changed func(st Status, offer *offers.RawOffer)

	// ListsChanged, where set, learns that a child has announced a change of lists. They are
	// read again then, and come as Changed. Of a child that announces many it is told about a
	// few. It is called as Notification is.
	ListsChanged func(k spec.Key, which offers.Lists)

	// Notification, where set, is given what else a child announces, in order; m is valid
	// until it returns. See run.CallKnown for ctx. It is called by the goroutine that
	// reads what the child sends, and must not block.
	Notification func(ctx context.Context, k spec.Key, m *jsonrpc.Message)

	// Request answers requests of a child other than roots/list and ping, which are
	// answered here. nil: they are refused. While it does, no call of the run times out.
	// ctx ends when the child cancels the request or ends. If the transport reports which
	// call the request belongs to, ctx has the values of that call's context. run.Tell(ctx,
	// ...) notifies the child that asked. Each request has a goroutine.
	Request func(ctx context.Context, k spec.Key, m *jsonrpc.Message) jsonrpc.Answer

	// Secret, where set, gives the value of a reference to a secret. It is called when
	// a child starts, by the instance's goroutine, and may take its time. Its error
	// stands in the child's, and reports what to do. leads refuses a file by where its
	// path leads; it is asked about the file that is open. nil: any will do.
	Secret func(ctx context.Context, r reference.Ref, leads func(real string) error) (string, error)

	// Login, where set, gives the login of an instance whose server may ask for one;
	// nil if it is to have none. s is the Spec as it is started. It is called when a
	// child starts, by the instance's goroutine, and must not block.
	Login func(k spec.Key, s spec.Spec) (remote.Login, error)

	// Principal, where set, says whose an instance is; "": no one's in particular. Yield, where
	// set, has the session end whose own an instance is, if no one uses that; false: it goes on.
	// Both are called by the goroutine of an instance that starts, and must not block.
	Principal func(k spec.Key) string
	Yield     func(k spec.Key) bool

	// OnStderr, where set, is given each line that a child writes to stderr, as plain
	// text. It is called by many goroutines and must not block.
	OnStderr func(k spec.Key, pid int, line string)

	// Refused, where set, learns what the kernel has refused a child, as far as its stderr
	// tells, and the directories that it serves. It is called by many goroutines and must
	// not block.
	Refused func(k spec.Key, f sandbox.Refusal, dirs []string)

	// Record, if set, notes what confined children use beyond what they may. They are held
	// unless Record.Free is set.
	Record *sandbox.Recorder

	// Redefined, where set, is given the tools of a server that have a definition which
	// they never had before. It is called by many goroutines and must not block.
	Redefined func(k spec.Key, tools []offers.Redefinition)

	// ClientProfile, where set, reports what the instance is shown of whom it serves. It
	// is called at each start, by the instance's goroutine, and must not block.
	ClientProfile func(k spec.Key) link.ClientProfile

	// Level, where set, tells the log level that those want whom the instance serves; ""
	// if no one has said. It is asked when a run is ready, and must not block.
	Level func(k spec.Key) string

	// Roots, where set, is called for each roots/list of a child with a handshake,
	// before it is answered. ctx is the ctx of the request. It may return a
	// function, which is called with ctx and may take its time to EnsureInstance or SetRoots
	// the roots of the answer. Roots itself is called by many goroutines and must
	// not block.
	Roots func(ctx context.Context, k spec.Key) (fetch func(ctx context.Context))

	// Writes, where set, is told about directories before a confined child may write there.
	// It is called by many goroutines.
	Writes func(dirs []string) error

	// Written, where set, reports which folder that servers may write, or might have written, holds one of these paths. It
	// is called by many goroutines. nil: nothing is on record.
	Written func(paths ...string) (dir string, ok bool)

	// NoRoots, where set, reports why an instance is served no roots. The answer to
	// its roots/list says so too. It is called by many goroutines and must not
	// block.
	NoRoots func(k spec.Key) string
}
