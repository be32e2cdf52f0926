package call_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/childtest"
	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/approval"
	"mcphub/hub/call"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/declaration"
	"mcphub/hub/handshake"
	"mcphub/hub/inflight"
	"mcphub/hub/offering"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/rootsmgr/rootstest"
	"mcphub/validate"
)

// TestSender: a Sender has what it needs of a session, a request is split, and goes through the steps. What is inside the
// roots of the client reaches the child, and its answer comes back; what is outside is denied.
func TestSender(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	s := newSender(t, root)
	for _, test := range []struct {
		path, want string
		denied     bool
	}{
		{filepath.Join(root, "a.txt"), "a.txt", false},
		{filepath.Join(outside, "a.txt"), "is outside the allowed roots boundaries", true},
	} {
		a := s.ServeTool(t.Context(), request(t, fmt.Sprintf(`{"name":"kid__echo","arguments":{"path":%q}}`, test.path)))
		if got := string(a.Result); !strings.Contains(got, test.want) || strings.Contains(got, `"isError":true`) != test.denied {
			t.Errorf("%s: %s %s", test.path, a.Result, a.Error)
		}
	}
}

func request(t *testing.T, params string) *jsonrpc.Message {
	t.Helper()
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`), true, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// newSender makes the Sender of a client that gives one root, with a child kid that runs.
func newSender(t *testing.T, root string) *call.Sender {
	t.Helper()
	checker, err := validate.NewChecker(validate.Config{FS: guard.OS{}, Home: t.TempDir(), Children: []validate.ChildConfig{{Name: "kid", Command: "kid"}}})
	if err != nil {
		t.Fatal(err)
	}
	conf, err := configuration.New(configuration.Settings{
		Checker: checker, FS: guard.OS{}, Dir: "/", Children: []configuration.Child{{Spec: childtest.Spec("kid", childtest.Script{}), Prefix: "kid__"}},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var current configuration.Current
	current.Set(conf)
	client := &client{key: spec.Key{Child: "kid"}}
	offered := offering.New(conf, &current, func(string) bool { return false })
	client.supervisor = children.NewSupervisor(children.Options{
		Specs: conf.Specs(), Launcher: childtest.Pipes{},
		Changed: func(st children.Status, raw *offers.Offer) {
			var offer *catalog.Offer // nil: it has not listed anything yet
			if raw != nil {
				offer = conf.ReadOffer(conf.Child("kid"), raw)
			}
			offered.Take(&st, offer)
		},
	})
	source := rootstest.NewClient()
	source.Always(platform.Host().FormatURI(root))
	client.roots = rootsmgr.NewManager(source, rootsmgr.Fallback{}, rootsmgr.DefaultSettings(), guard.OS{}, zerolog.Nop())
	client.roots.Initialized(true, false)
	for _, run := range []func(context.Context) error{client.supervisor.Run, client.roots.Run} {
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- run(ctx) }()
		t.Cleanup(func() {
			if stop(); <-done != nil {
				t.Error("it has not ended well")
			}
		})
	}
	conf.PutInForce(nil)
	known := make(chan struct{})
	close(known)
	offered.Recall(t.Context(), known, func(*configuration.Child) *offers.Offer { return nil })
	client.supervisor.WithBoundary(sandbox.Boundary{}).Ensure(client.key, nil)
	return &call.Sender{
		ID: "a session", Main: handshake.NewMain(handshake.Nobody, client), Current: &current, Offering: offered, Instances: client, Roots: client.roots,
		Approvals: approval.New(guard.OS{}, zerolog.Nop(), conf.ApprovalRules), Progress: &inflight.Progress{}, Log: zerolog.Nop(),
		Records: record.New("a session", "", func() *record.Settings { return &record.Settings{} }, nil, nil),
	}
}

// client is one of the handshake's era, and the instance of kid that serves it.
type client struct {
	call.Instances // what is not needed here
	key            spec.Key
	supervisor     *children.Supervisor
	roots          *rootsmgr.Manager
}

func (c *client) Capabilities() declaration.Claims                                { return declaration.Claims{Known: true} }
func (c *client) Level() declaration.Level                                        { return 0 }
func (c *client) Roots() *rootsmgr.Manager                                        { return c.roots }
func (c *client) RootsTimeout() time.Duration                                     { return time.Minute }
func (c *client) AwaitServed(context.Context, rootsmgr.View, time.Duration) error { return nil }
func (c *client) ByRoots(*configuration.Child) bool                               { return false }
func (c *client) RootsAreCurrent() bool                                           { return true }
func (c *client) AwaitsList(string) bool                                          { return false }
func (c *client) Plan(*configuration.Configuration, string, *rootsmgr.View) (string, []string, bool) {
	return "", nil, false
}

func (c *client) TryAcquire(*configuration.Configuration, string) *children.Lease {
	lease, _ := c.supervisor.TryAcquire(c.key)
	return lease
}

func (c *client) Acquire(ctx context.Context, _ *configuration.Configuration, _ string) (*children.Lease, error) {
	return c.supervisor.Acquire(ctx, c.key)
}
