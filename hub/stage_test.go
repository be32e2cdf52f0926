package hub

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

// stage is a Launcher that plays children in this process and notes which of
// them got which call.
type stage struct {
	childtest.Pipes
	mu       sync.Mutex
	launched []*actor
	served   map[string]*actor // by the tag in a call's arguments
	calls    map[string]int    // how many requests there were, by method
}

func newStage() *stage {
	return &stage{served: map[string]*actor{}, calls: map[string]int{}}
}

// actor is one run of a child on a stage.
type actor struct {
	link.ChildConnection
	stage *stage
	child string
	roots string // MCP_ROOTS_PATHS, as it was started
	cwd   string
	env   []string
	args  []string
	live  bool
}

func (s *stage) Launch(l launch.Launch, spec spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	link, err := s.Pipes.Launch(l, spec, h, log)
	if err != nil {
		return nil, err
	}
	a := &actor{ChildConnection: link, stage: s, child: spec.Name, cwd: l.Dir, env: l.Env, args: l.Args, live: true}
	for _, v := range l.Env {
		if paths, ok := strings.CutPrefix(v, "MCP_ROOTS_PATHS="); ok {
			a.roots = paths
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launched = append(s.launched, a)
	return a, nil
}

func (a *actor) Run(ctx context.Context) error {
	err := a.ChildConnection.Run(ctx)
	a.stage.mu.Lock()
	defer a.stage.mu.Unlock()
	a.live = false
	return err
}

func (a *actor) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	raw := slices.Concat(params...)
	a.stage.mu.Lock()
	a.stage.calls[method]++
	a.stage.mu.Unlock()
	if method == "tools/call" {
		if tag, ok := jsonrpc.String(jsonrpc.Get(jsonrpc.Get(raw, "arguments"), "tag")); ok {
			a.stage.mu.Lock()
			a.stage.served[tag] = a
			a.stage.mu.Unlock()
		}
	}
	return a.ChildConnection.Call(ctx, method, params...)
}

// who returns the run that got the call with a tag, nil for none.
func (s *stage) who(tag string) *actor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served[tag]
}

// number returns how many runs were started before this one.
func (s *stage) number(a *actor) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(slices.Index(s.launched, a))
}

// asked returns how many requests of a method children got.
func (s *stage) asked(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// count returns how many runs of a child there were and are; "" is any child.
func (s *stage) count(child string) (launched, live int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.launched {
		if child == "" || a.child == child {
			launched++
			if a.live {
				live++
			}
		}
	}
	return launched, live
}

// play runs a Hub over played children in a time of its own.
func play(t *testing.T, specs []spec.Spec, test func(t *testing.T, h *Hub, s *stage)) {
	playWith(t, specs, playOptions{}, test)
}

type playOptions struct {
	fallback string // the root that hub.json names; "" for none
	children int    // how many may run at a time; 0: as many as without a setting
}

// playWith is play with what hub.json may say.
func playWith(t *testing.T, specs []spec.Spec, o playOptions, test func(t *testing.T, h *Hub, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		cfg := testConfig(t, specs...)
		cfg.Launcher, cfg.Limits.Children, cfg.Limits.ListWait = s, o.children, 0 // as shipped: the clock is the test's own
		if o.fallback != "" {
			cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: o.fallback}}}
		}
		h := runHub(t, cfg)
		test(t, h, s)
	})
}

// enter opens a session over pipes in memory; leave ends it and returns when
// none of it is left.
func enter(t *testing.T, h *Hub, dirs ...string) (c *testClient, leave func()) {
	t.Helper()
	return enterFrom(t, h, Surroundings{}, dirs...)
}

// enterFrom is enter for a client in these surroundings.
func enterFrom(t *testing.T, h *Hub, around Surroundings, dirs ...string) (c *testClient, leave func()) {
	t.Helper()
	toHub, fromClient := io.Pipe()
	toClient, fromHub := io.Pipe()
	c = &testClient{t: t, hub: h, raws: fromClient, notes: make(chan string, 1000), progress: make(chan string, 1000)}
	c.setRoots(dirs...)
	c.conn = jsonrpc.NewConn(toClient, fromClient, c, jsonrpc.ConnOptions{})
	return c, c.join(func() { _ = h.ServeStdio(context.Background(), toHub, fromHub, around) })
}

// change gives the client other roots and says so.
func (c *testClient) change(dirs ...string) {
	c.t.Helper()
	c.setRoots(dirs...)
	if err := c.conn.Notify(context.Background(), "notifications/roots/list_changed"); err != nil {
		c.t.Fatal(err)
	}
}

// tagged makes a call without a path and returns the run that got it.
func (c *testClient) tagged(s *stage, child, tag string) *actor {
	c.t.Helper()
	if msg, bad := text(c.raw("tools/call", toolCall(child+"__echo", fmt.Sprintf(`{"tag":%q}`, tag)))); bad {
		c.t.Fatalf("%s: %s", tag, msg)
	}
	a := s.who(tag)
	if a == nil {
		c.t.Fatalf("%s: no child got it", tag)
	}
	return a
}

// played returns a Spec of a child on a stage.
func played(name string, share spec.Share, s childtest.Script) spec.Spec {
	child := scripted(name, s)
	child.Share = share
	if share != spec.ShareSession {
		child.IdleTimeout = 15 * time.Minute
	}
	return child
}
