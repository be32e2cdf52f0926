package hub

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/bounds"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate"
)

// A past is a child with a file of definitions, and a cache that outlives hubs.
type past struct {
	t    *testing.T
	spec spec.Spec
	defs string
	dir  string
	work string // in which the hubs work
}

const (
	wideTool   = `{"name":"echo","inputSchema":{"type":"object","properties":{"mode":{"type":"string"}}}}`
	narrowTool = `{"name":"echo","inputSchema":{"type":"object","properties":{"mode":{"enum":["safe"]}}}}`
	// It compiles for no one.
	brokenTool = `{"name":"echo","inputSchema":"nonsense"}`
	otherTool  = `{"name":"roots","inputSchema":{"type":"object"}}`
)

func newPast(t *testing.T, defs ...string) *past {
	p := &past{t: t, defs: filepath.Join(t.TempDir(), "defs"), dir: filepath.Join(t.TempDir(), "catalogue"), work: t.TempDir()}
	p.spec = scripted("kid", childtest.Script{Defs: p.defs, Stuck: p.defs + ".stuck"})
	p.define(defs...)
	c, end := p.client()
	defer end()
	c.raw("tools/list", `{}`)
	if st := c.hub.sup.Status()[0]; st.State != children.Ready {
		t.Fatalf("a child of which nothing is known was not started for the list: %s", st)
	}
	return p
}

func (p *past) define(defs ...string) {
	p.t.Helper()
	if err := os.WriteFile(p.defs, []byte(strings.Join(defs, "\n")), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// config returns the config of a hub with one child.
func (p *past) config(spec spec.Spec) Config {
	p.t.Helper()
	checker, err := validate.NewChecker(validate.Config{FS: guard.OS{}, Home: p.t.TempDir(), Children: []validate.ChildConfig{{Name: "kid", Command: spec.Command}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return Config{
		Version: "test", Checker: checker, Roots: rootsmgr.DefaultSettings(), Log: zerolog.Nop(), Environ: os.Environ(),
		Home: p.t.TempDir(), Dir: p.work, Cache: p.dir, Inspect: true,
		Children: []Child{{Spec: spec, Prefix: "kid__"}},
	}
}

// client returns the client of a hub of its own, introduced; end ends both.
func (p *past) client() (c *testClient, end func()) {
	p.t.Helper()
	return p.clientWith(`{}`)
}

func (p *past) clientWith(capabilities string, roots ...string) (c *testClient, end func()) {
	p.t.Helper()
	h, end := startHub(p.t, p.config(p.spec))
	c = connect(p.t, h, roots...)
	c.handshake(capabilities)
	return c, end
}

// announced reports whether list_changed came before the answer of a ping.
func (c *testClient) announced() bool {
	c.raw("ping", `{}`)
	for {
		select {
		case n := <-c.notes:
			if n == "notifications/tools/list_changed" {
				return true
			}
		default:
			return false
		}
	}
}

func (c *testClient) state(t *testing.T) string {
	t.Helper()
	list := c.raw("tools/call", toolCall("list-tools", `{}`))
	servers := jsonrpc.Get(jsonrpc.Get([]byte(list), "structuredContent"), "servers")
	state := ""
	if err := jsonrpc.Elements(servers, func(v []byte) bool { state, _ = jsonrpc.String(jsonrpc.Get(v, "state")); return false }); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestListedFromTheCache(t *testing.T) {
	p := newPast(t, wideTool)
	c, end := p.client()
	defer end()
	list := c.raw("tools/list", `{}`)
	if !strings.Contains(list, `"kid__echo"`) {
		t.Fatal(list)
	}
	if got := c.state(t); got != "cold" {
		t.Errorf("list-tools: state %q", got)
	}
	got := c.raw("tools/call", toolCall("kid__echo", `{"mode":"any"}`))
	if string(jsonrpc.Get([]byte(got), "structuredContent")) != `{"mode":"any"}` {
		t.Error(got)
	}
	for c.state(t) != "ready" { // it is, and is about to be told
	}
	if c.announced() {
		t.Error("the same list was announced as another one")
	}
	if again := c.raw("tools/list", `{}`); again != list {
		t.Errorf("the list has changed: %s", again)
	}
}

// TestListedForOtherCapabilities: a client that can be asked sees at once what was listed
// for one that cannot, and the server's own answer when it has come.
func TestListedForOtherCapabilities(t *testing.T) {
	p := newPast(t, wideTool)
	p.define(wideTool, otherTool)
	if err := os.WriteFile(p.defs+".stuck", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, end := p.clientWith(`{"sampling":{},"elicitation":{}}`)
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"kid__echo"`) {
		t.Error(list)
	}
	for c.state(t) != "starting" { // though it is lazy
	}
	end()

	if err := os.Remove(p.defs + ".stuck"); err != nil {
		t.Fatal(err)
	}
	c, end = p.clientWith(`{"sampling":{},"elicitation":{}}`)
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"kid__roots"`) {
		for n := range c.notes {
			if n == "notifications/tools/list_changed" {
				break
			}
		}
	}
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"kid__roots"`) {
		t.Error(list)
	}
	for c.state(t) != "ready" {
	}
	end()

	c, end = p.clientWith(`{"sampling":{},"elicitation":{}}`)
	defer end()
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"kid__roots"`) {
		t.Error(list)
	}
	if got := c.state(t); got != "cold" {
		t.Errorf("state %q once it was listed for such a client", got)
	}
}

func TestChangedCatalogueIsAnnounced(t *testing.T) {
	p := newPast(t, wideTool)
	p.define(wideTool, otherTool)
	p.spec.Start = spec.StartEager
	c, end := p.client()
	defer end()
	// The child may be listed before or after the first question: where before,
	// there is nothing to announce.
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"kid__roots"`) {
		for n := range c.notes {
			if n == "notifications/tools/list_changed" {
				break
			}
		}
	}
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"kid__roots"`) {
		t.Error(list)
	}
}

func TestQuarantineIsRemembered(t *testing.T) {
	p := newPast(t, brokenTool, otherTool)
	c, end := p.client()
	defer end()
	if list := c.raw("tools/list", `{}`); strings.Contains(list, "kid__echo") || !strings.Contains(list, "kid__roots") {
		t.Error(list)
	}
	if report, _ := text(c.raw("tools/call", toolCall("list-tools", `{}`))); !strings.Contains(report, "its member /inputSchema is no object") {
		t.Error(report)
	}
	if st := c.hub.sup.Status(); len(st) > 0 && st[0].State == children.Ready {
		t.Error("the child has started: this shows nothing")
	}
}

// TestUnknownNameStartsTheChild: what is remembered need not be all.
func TestUnknownNameStartsTheChild(t *testing.T) {
	p := newPast(t, otherTool)
	p.define(otherTool, wideTool)
	c, end := p.client()
	defer end()
	if got := c.raw("tools/call", toolCall("kid__echo", `{"mode":"x"}`)); string(jsonrpc.Get([]byte(got), "structuredContent")) != `{"mode":"x"}` {
		t.Error(got)
	}
	if e := c.refused("tools/call", toolCall("kid__nothing", `{}`)); e.Code != jsonrpc.CodeInvalidParams {
		t.Error(e)
	}
}

// TestProgressWhileStarting: the hub's own notices come first, below zero, and
// every value is above the one before. They are so near to zero that they round to it as percents. The first comes after 300 ms. A child that is ready is the control.
func TestProgressWhileStarting(t *testing.T) {
	play(t, []spec.Spec{scripted("kid", childtest.Script{StartDelay: 2 * time.Second})}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		for _, starting := range []bool{true, false} {
			c.raw("tools/call", `{"_meta":{"progressToken":"mine"},"name":"kid__progress","arguments":{"Steps":3}}`)
			last, notices := -2.0, 0
			for len(c.progress) > 0 {
				params := []byte(<-c.progress)
				value, err := strconv.ParseFloat(string(jsonrpc.Get(params, "progress")), 64)
				if err != nil || value <= last || string(jsonrpc.Get(params, "progressToken")) != `"mine"` {
					t.Errorf("after %g: %s", last, params)
				}
				last = value
				if message, _ := jsonrpc.String(jsonrpc.Get(params, "message")); message == "starting kid" && value < 0 && value >= -0.001 {
					notices++
				}
			}
			if last != 2 || notices > 0 != starting {
				t.Errorf("starting %t: %d notices, the last value was %g", starting, notices, last)
			}
		}
	})
}

// TestPromptThatWasNotRemembered asks for what a lazy child did not offer when it
// was listed last: it is looked for before it is said that there is none.
func TestPromptThatWasNotRemembered(t *testing.T) {
	p := &past{t: t, defs: filepath.Join(t.TempDir(), "defs"), dir: filepath.Join(t.TempDir(), "catalogue"), work: t.TempDir()}
	withheld := p.defs + ".withheld"
	p.spec = scripted("kid", childtest.Script{Defs: p.defs, Library: true, Withheld: withheld})
	p.define(wideTool)
	if err := os.WriteFile(withheld, []byte("empty"), 0o600); err != nil {
		t.Fatal(err)
	}
	const asked = `{"name":"kid__greet","arguments":{}}`
	c, end := p.client()
	if e := c.refused("prompts/get", asked); !strings.Contains(e.Message, `There is no prompt "kid__greet"`) {
		t.Error(e)
	}
	end()
	if err := os.Remove(withheld); err != nil {
		t.Fatal(err)
	}
	c, end = p.client()
	defer end()
	if list := c.raw("tools/list", `{}`); !strings.Contains(list, `"kid__echo"`) || c.state(t) != "cold" {
		t.Fatalf("control: it is not offered from memory: %s", list)
	}
	if got := c.raw("prompts/get", asked); !strings.Contains(got, `"description":"got"`) {
		t.Error(got)
	}
}

// TestWhatIsListedStaysWithItsRoots: what a child offered and said of itself when it was served one project is not shown in a session of another
// one, however the child is shared and whatever this one is told first. Controls: a session of the same project is shown it without a start, and
// is told it at the beginning if the client was started in that project, which is what its roots will probably be.
func TestWhatIsListedStaysWithItsRoots(t *testing.T) {
	t.Parallel()
	const withRoots = `{"roots":{}}`
	for _, share := range []spec.Share{spec.ShareSession, spec.ShareRoots} {
		t.Run(share.String(), func(t *testing.T) {
			t.Parallel()
			p := newPast(t, otherTool)
			p.spec = played("kid", share, childtest.Script{Defs: p.defs, Stuck: p.defs + ".stuck", Library: true})
			p.spec.Command = os.Args[0]
			hostile, honest := t.TempDir(), t.TempDir()
			// session tells what a client is shown that was started in work. It waits long only for what must come.
			session := func(work, caps string, shown bool, roots ...string) (said, list string) {
				cfg := p.config(p.spec)
				cfg.Launcher, cfg.Dir, cfg.Limits.ListWait = childtest.Pipes{}, work, time.Second
				if shown {
					cfg.Limits.ListWait = bounds.Patience
				}
				h, end := startHub(t, cfg)
				defer end()
				c := connect(t, h, roots...)
				return c.handshake(caps), c.raw("tools/list", `{}`)
			}
			p.define(wideTool)
			if said, list := session(p.work, withRoots, true, hostile); strings.Contains(said, "Be kind.") || !strings.Contains(list, `"kid__echo"`) {
				t.Fatalf("the first session: %s\n%s", said, list)
			}
			if err := os.WriteFile(p.defs+".stuck", nil, 0o600); err != nil { // from here on all that is shown is remembered
				t.Fatal(err)
			}
			for what, in := range map[string]struct {
				work, caps  string
				roots       []string
				told, shown bool
			}{
				"another project":                      {work: p.work, caps: withRoots, roots: []string{honest}},
				"another project, started in it":       {work: honest, caps: withRoots, roots: []string{honest}},
				"both":                                 {work: p.work, caps: withRoots, roots: []string{honest, hostile}},
				"none":                                 {work: p.work, caps: withRoots},
				"no word about roots":                  {work: honest, caps: `{}`},
				"control: the same":                    {work: p.work, caps: withRoots, roots: []string{hostile}, shown: true},
				"control: the same, and started in it": {work: hostile, caps: withRoots, roots: []string{hostile}, told: true, shown: true},
			} {
				said, list := session(in.work, in.caps, in.shown, in.roots...)
				if told, shown := strings.Contains(said, "Be kind."), strings.Contains(list, `"kid__echo"`); told != in.told || shown != in.shown {
					t.Errorf("%s: told %t, shown %t\n%s\n%s", what, told, shown, said, list)
				}
			}
		})
	}
}

// If the roots of a session change while a server is idle, its former list is shown no longer, and it is listed again. With the former
// roots its list is known again, and it need not be started for that.
func TestAnIdleServerIsListedWithOtherRoots(t *testing.T) {
	t.Parallel()
	p := newPast(t, otherTool)
	p.spec = played("kid", spec.ShareSession, childtest.Script{Defs: p.defs, Stuck: p.defs + ".stuck"})
	p.spec.Command, p.spec.IdleTimeout = os.Args[0], 50*time.Millisecond
	p.define(wideTool)
	cfg := p.config(p.spec)
	cfg.Launcher, cfg.Limits.ListWait = childtest.Pipes{}, time.Second
	first, second := t.TempDir(), t.TempDir()
	c := connect(t, runHub(t, cfg), first)
	c.handshake(`{"roots":{"listChanged":true}}`)
	wants := func(name, when string) {
		t.Helper()
		if !bounds.Within(bounds.Patience, func() bool { return strings.Contains(c.raw("tools/list", `{}`), name) }) {
			t.Errorf("%s: %s is not listed", when, name)
		}
	}
	stops := func() {
		t.Helper()
		if !bounds.Within(bounds.Patience, func() bool { return c.state(t) == "stopped" }) {
			t.Fatalf("it is %s", c.state(t))
		}
	}
	wants(`"kid__echo"`, "with the first roots")
	stops()
	moves := func(dir string) {
		t.Helper()
		c.change(dir)
		if !bounds.Within(bounds.Patience, func() bool { return strings.Contains(c.raw("tools/call", toolCall("get-roots", `{}`)), dir) }) {
			t.Fatal("the roots do not change")
		}
	}
	p.define(otherTool)
	moves(second)
	wants(`"kid__roots"`, "with other roots")
	if list := c.raw("tools/list", `{}`); strings.Contains(list, `"kid__echo"`) {
		t.Errorf("with other roots it is shown %s", list)
	}
	stops()
	if err := os.WriteFile(p.defs+".stuck", nil, 0o600); err != nil { // from here on all that is shown is remembered
		t.Fatal(err)
	}
	moves(first)
	wants(`"kid__echo"`, "with the first roots again")
	moves(t.TempDir())
	// The instance learns of the roots beside the session. Since it cannot be listed, its list goes and does not come back.
	if !bounds.Within(bounds.Patience, func() bool { return !strings.Contains(c.raw("tools/list", `{}`), `"kid__`) }) {
		t.Errorf("before it is listed with other roots it is shown %s", c.raw("tools/list", `{}`))
	}
}
