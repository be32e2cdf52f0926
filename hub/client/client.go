package client

import (
	"context"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/hub/rounds"
	"mcphub/hub/telemetry"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// A Messenger is a way to one client, whatever the transport. Over stdio there is
// one for everything; over HTTP each request of the client has its own, and
// what belongs to none has another.
type Messenger interface {
	// Call asks the client and waits for its answer, as jsonrpc.Conn.Call does.
	Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error)
	// Notify informs the client, and waits for room as long as ctx lasts.
	Notify(ctx context.Context, method string, params ...[]byte) error
	// TryNotify informs the client if there is room; it never blocks.
	TryNotify(method string, params ...[]byte) bool
	// TryNotifyLeavingRoom works like TryNotify, but leaves half of the room to whatever else
	// there is to say.
	TryNotifyLeavingRoom(method string, params ...[]byte) bool
}

// A RequestMessenger is what a front gives a request: the client is told and asked on it,
// before the answer, what belongs to the request.
type RequestMessenger interface {
	Messenger
	// AllowHubQuestions lets the hub's own questions go by this way, if there is no other way,
	// until back is called.
	AllowHubQuestions() (back func())
	// Reaches reports whether the client can be told anything on it before its
	// request is answered.
	Reaches() bool
}

// A Client is the client that made one request. There are two implementations. A *handshake.Client has declared once
// what it can do, and the hub may ask it at any time. A *modern.Client (2026-07-28) declares that with each request, and
// the hub asks it by the answer to the request. A Call does the same for both.
type Client interface {
	RequestMessenger
	rounds.InputClient
	Identity
	ClientRoots
	AnswerShaper
	// YieldChild lets other requests have the child while a person is asked.
	YieldChild()
}

// An Identity is what is known of a client beside what it says about itself.
type Identity interface {
	// Era returns the word for the era of the client, for reports alone.
	Era() string
	// StartTiming begins to time the request of the client.
	StartTiming(t *telemetry.SessionMetrics) telemetry.RequestTiming
	// AllowsFastPath reports whether a tool of a child with this share may be called without asking the client, waiting for
	// it, or comparing its headers. mirrored: HTTP headers repeat parts of the call. lease is nil before the hub has one.
	AllowsFastPath(share spec.Share, mirrored bool, lease *children.Lease) bool
}

// ClientRoots are how the roots of a client come to its request and its children.
type ClientRoots interface {
	// AwaitRoots waits for the roots that the request is judged by. It also waits until the children have been given them, unless each request
	// brings its own roots: these are served when it is the turn of the request.
	AwaitRoots(ctx context.Context, waitBudget *rootsmgr.WaitBudget) (rootsmgr.RootsView, error)
	// RootsStatus returns the roots as they are known now, and the word of rootsmgr for that.
	RootsStatus(ctx context.Context) (rootsmgr.RootsView, string, error)
	// NoteScan gets the findings that will be judged. It is called before AwaitRoots.
	NoteScan(scan *validate.Scan)
	// CheckVerdict looks at the verdict, and returns an error if the client has to give its roots first.
	CheckVerdict(v *validate.Verdict) error
	// Reconsider asks again about roots by which a request would be denied; newer is
	// false if there is nothing else. limit bounds how long it waits until the
	// children have been given them.
	Reconsider(ctx context.Context, waitBudget *rootsmgr.WaitBudget, limit time.Duration) (rootsView rootsmgr.RootsView, newer bool, err error)
	// AwaitRootsBefore waits until a child that needs roots has been given them, for a
	// request without a path.
	AwaitRootsBefore(ctx context.Context, spec *spec.Spec) error
	// AwaitRootsAfter does the rest of AwaitRootsBefore, once the child runs. If it returns an
	// error, it has released the lease.
	AwaitRootsAfter(lease *children.Lease) error
	// BringsOtherRoots reports whether a child is served other roots than it has before
	// the request goes to it.
	BringsOtherRoots(spec *spec.Spec) bool
	// SendsRoots reports whether roots come with the client's requests. A child that
	// asks for them in the middle of one waits for the bytes of that request.
	SendsRoots() bool
	// CanFetchRoots reports whether the client is to be asked for roots on account of
	// a child that asks for them.
	CanFetchRoots(child string) bool
	// GaveRoots reports whether roots came with the request, or because its client was asked
	// on account of it: no others are as new.
	GaveRoots() bool
	// FetchRoots asks, and has the child served what the client gives. What was
	// allowed without these roots is judged by them first: an error of judge ends the
	// request.
	FetchRoots(ctx context.Context, child string, judge func(rootsmgr.RootsView) error)
}

// An AnswerShaper gives what a child says the shape that its client is to have.
type AnswerShaper interface {
	// ShapeAnswer returns the child's answer as it is meant for this client.
	ShapeAnswer(lease *children.Lease, method string, resp *jsonrpc.Response) jsonrpc.Answer
	// KeepResultType keeps the resultType that the child has set: it was seen to be allowed.
	KeepResultType()
	// Wants reports whether the client wants a log message of a child.
	Wants(m *jsonrpc.Message) bool
}
