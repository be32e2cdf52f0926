package handshake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcphub/children"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/hub/client"
	"mcphub/hub/declaration"
	"mcphub/hub/modern"
	"mcphub/hub/telemetry"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// Era is the word for the era of the handshake, for reports.
const Era = "handshake"

// A Host is the session of a client.
type Host interface {
	// Capabilities returns what the client declared in its handshake.
	Capabilities() declaration.Claims
	// Level returns how verbose log messages the client wants.
	Level() declaration.Level
	// Roots returns the roots of the client.
	Roots() *rootsmgr.Manager
	// RootsTimeout returns how long a client may take to report what its roots are.
	RootsTimeout() time.Duration
	// AwaitServed waits until the children have been given the roots of a view, or newer
	// ones, at most as long as limit.
	AwaitServed(ctx context.Context, rootsView rootsmgr.RootsView, limit time.Duration) error
}

// A Client is the client of one request after a handshake.
type Client struct {
	client.RequestMessenger
	Host Host
}

var _ client.Client = (*Client)(nil)

// Era returns the word for the era of the handshake.
func (c *Client) Era() string { return Era }

// StartTiming begins to time its request.
func (c *Client) StartTiming(t *telemetry.SessionMetrics) telemetry.RequestTiming {
	return t.StartTiming()
}

// Claims returns what the client declared in its handshake.
func (c *Client) Claims() declaration.Claims { return c.Host.Capabilities() }

// ClientProfile returns what a child without a handshake is shown of the client.
func (c *Client) ClientProfile() link.ClientProfile {
	return link.ClientProfile{Capabilities: c.Host.Capabilities().ForChildren, Level: c.Host.Level().String()}
}

// AllowsFastPath returns true: nothing has to be asked with the request.
func (c *Client) AllowsFastPath(spec.Share, bool, *children.Lease) bool { return true }

// AwaitRoots waits for the roots of the session, and until the children have been given
// them.
func (c *Client) AwaitRoots(ctx context.Context, waitBudget *rootsmgr.WaitBudget) (rootsmgr.RootsView, error) {
	start := time.Now()
	defer c.AllowHubQuestions()()
	rootsView, err := waitBudget.Await(ctx)
	if err != nil {
		return rootsView, err
	}
	rootsView.ClientName = c.Claims().Name
	return rootsView, c.Host.AwaitServed(ctx, rootsView, c.Host.RootsTimeout()-time.Since(start))
}

// RootsStatus returns the roots of the session and how they stand.
func (c *Client) RootsStatus(context.Context) (rootsmgr.RootsView, string, error) {
	rootsView := c.Host.Roots().RootsView()
	rootsView.ClientName = c.Claims().Name
	return rootsView, c.Host.Roots().Word(), nil
}

// NoteScan does nothing: the client is asked at any time.
func (c *Client) NoteScan(*validate.Scan) {}

// CheckVerdict returns nil: no roots come with the request.
func (c *Client) CheckVerdict(*validate.Verdict) error { return nil }

// Reconsider asks the client again for its roots.
func (c *Client) Reconsider(ctx context.Context, waitBudget *rootsmgr.WaitBudget, limit time.Duration) (rootsmgr.RootsView, bool, error) {
	rootsView, newer, err := waitBudget.Reconsider(ctx)
	if newer && err == nil {
		err = c.Host.AwaitServed(ctx, rootsView, limit)
	}
	return rootsView, newer, err
}

// AwaitRootsBefore returns nil: no roots come with the request.
func (c *Client) AwaitRootsBefore(context.Context, *spec.Spec) error { return nil }

// AwaitRootsAfter returns nil: no roots come with the request.
func (c *Client) AwaitRootsAfter(*children.Lease) error { return nil }

// BringsOtherRoots returns false: no roots come with the request.
func (c *Client) BringsOtherRoots(*spec.Spec) bool { return false }

// RootsMissing returns false: no roots come with the request.
func (c *Client) RootsMissing() bool { return false }

// SendsRoots returns false: the client is asked for its roots at any time.
func (c *Client) SendsRoots() bool { return false }

// CanFetchRoots returns false: the client was asked for its roots already.
func (c *Client) CanFetchRoots(string) bool { return false }

// GaveRoots returns false: no roots come with a request.
func (c *Client) GaveRoots() bool { return false }

// FetchRoots does nothing.
func (c *Client) FetchRoots(context.Context, string, func(rootsmgr.RootsView) error) {}

// YieldChild does nothing: no request of such a client keeps others from a child.
func (c *Client) YieldChild() {}

// RetryInput is nothing: a request of such a client is no retry.
func (c *Client) RetryInput(string) (state, responses []byte, ok bool) { return nil, nil, false }

// ForwardInput returns false: the client is to be asked now.
func (c *Client) ForwardInput(string, func() []byte, bool) (jsonrpc.Answer, bool) {
	return jsonrpc.Answer{}, false
}

// ShapeAnswer gives the answer of a child the shape of the handshake's era: what only the
// other one has is cut out of the bytes.
func (c *Client) ShapeAnswer(lease *children.Lease, method string, resp *jsonrpc.Response) jsonrpc.Answer {
	a := resp.Answer()
	if !lease.IsModern() || a.Error != nil {
		return a
	}
	return a.WithEdits(modern.HandshakeEdits(a.Result, method)...)
}

// KeepResultType does nothing: answers of this era do not report what they are.
func (c *Client) KeepResultType() {}

// Wants goes by the level that the session has set.
func (c *Client) Wants(m *jsonrpc.Message) bool {
	level, ok := declaration.ReadLevel(m.Param("level"))
	return !ok || level >= c.Host.Level()
}

// A MainMessenger carries what belongs to no request of the client.
type MainMessenger interface {
	client.Messenger
	Serving() int                         // requests of the client under way
	Connected() bool                      // the client takes what belongs to no request now
	AwaitReady(ctx context.Context) error // waits until the client can be asked
}

// mainRequestMessenger is the RequestMessenger of a request that has none of its own.
type mainRequestMessenger struct{ MainMessenger }

func (mainRequestMessenger) AllowHubQuestions() (back func()) { return func() {} }
func (mainRequestMessenger) Reaches() bool                    { return true }

// NewMain makes the Client of requests that have no RequestMessenger of their own.
func NewMain(main MainMessenger, host Host) *Client { return &Client{mainRequestMessenger{main}, host} }

// Nobody is the MainMessenger if there is no session: no one can be
// told or asked.
var Nobody MainMessenger = nobody{}

type nobody struct{}

var errNobody = errors.New("no client can be asked but while a request of it is being answered")

func (nobody) Call(context.Context, string, ...[]byte) (*jsonrpc.Response, error) {
	return nil, errNobody
}
func (nobody) Notify(context.Context, string, ...[]byte) error { return nil }
func (nobody) TryNotify(string, ...[]byte) bool                { return true }
func (nobody) TryNotifyLeavingRoom(string, ...[]byte) bool     { return true }
func (nobody) Serving() int                                    { return 0 }
func (nobody) Connected() bool                                 { return true }
func (nobody) AwaitReady(context.Context) error                { return nil }

// A ClientRootsSource is the rootsmgr.RootsSource of a client: it sends roots/list
// to the client itself.
type ClientRootsSource struct{ Client MainMessenger }

// AwaitReady returns once the client can be asked.
func (a ClientRootsSource) AwaitReady(ctx context.Context) error { return a.Client.AwaitReady(ctx) }

// ListRoots asks once, for one page.
func (a ClientRootsSource) ListRoots(ctx context.Context, cursor string) (rootsmgr.Page, error) {
	var params [][]byte
	if cursor != "" {
		params = append(params, append(jsonrpc.AppendString([]byte(`{"cursor":`), cursor), '}'))
	}
	resp, err := a.Client.Call(ctx, methods.ListRoots, params...)
	if err != nil {
		return rootsmgr.Page{}, err
	}
	if e := resp.Err(); e != nil {
		if cursor != "" && e.Code == jsonrpc.CodeInvalidParams {
			return rootsmgr.Page{}, fmt.Errorf("%w: %w", rootsmgr.ErrBadCursor, e)
		}
		return rootsmgr.Page{}, e
	}
	return declaration.ReadRoots(resp.Result)
}
