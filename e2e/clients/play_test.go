//lint:file-ignore SA1019 Roots and sampling are what is tested; the SDKs call them deprecated since 2026-07-28.

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// played is what became of all that a client of some SDK and the fixture can do with each other.
type played struct {
	Version  string
	Texts    map[string]string // what the tools said, by step
	Progress []float64
	Asked    map[string]int // questions, by method; not those for the roots
	Changed  []string       // what the client was told
}

// wantPlayed returns how it must be, no matter who plays.
func wantPlayed(w *world.World, version string) played {
	one := "1 roots: " + ide.FileURI(w.Project)
	return played{Version: version, Progress: []float64{0, 50, 100}, Changed: []string{"prompts", "resource", "tools"},
		Asked: map[string]int{"elicitation/create": 2, "sampling/createMessage": 2},
		Texts: map[string]string{
			"call": "This is a simple text response for testing.", "progress": "3 steps done", "cancel": "a wait was cancelled",
			"elicitation": `Elicitation completed: action=accept, content={"email":"ada@example.org","username":"Ada"}`,
			"sampling":    "LLM response: forty-two", "roots": one, "all": "forty-two Ada, with " + one, "change": "added the tool added_later",
			"later": "here now", "prompts": "added the prompt added_later", "update": "touched",
			"inside": `given {"path":` + world.Raw(w.T, w.Path("project", "hello.txt")) + `}`, "outside": "failed: " + world.Denial("/etc/passwd", w.Project),
		}}
}

// TestRealClients: each SDK's client in each era that it knows, over both transports, with children of both eras. In the short run a client that
// has a child of the one era on stdio has one of the other era over HTTP.
func TestRealClients(t *testing.T) {
	t.Parallel()
	for i, sdk := range []struct {
		name, version string
		quits         bool // over HTTP it only closes the stream of a call that it gives up, which cancels nothing before 2026-07-28
		play          func(w *world.World, hub *world.Witnessed, overWeb bool, version string) played
	}{
		{"TypeScript SDK v1", "2025-11-25", false, typeScript("v1", nil)},
		{"TypeScript SDK v2 legacy", "2025-11-25", false, typeScript("v2", "legacy")},
		{"TypeScript SDK v2 auto", world.ModernVersion, false, typeScript("v2", "auto")},
		{"TypeScript SDK v2 pinned", world.ModernVersion, false, typeScript("v2", obj{"pin": world.ModernVersion})},
		{"Go SDK legacy", "2025-11-25", false, playGoSDK},
		{"Go SDK modern", world.ModernVersion, false, playGoSDK},
		{"mcp-go legacy", "2025-11-25", true, playMCPGo},
		{"mcp-go modern", world.ModernVersion, false, playMCPGo},
	} {
		for _, overWeb := range []bool{false, true} {
			for _, modernChild := range []bool{false, true} {
				if !world.Long && (i%2 == 1) != (overWeb != modernChild) {
					continue
				}
				t.Run(fmt.Sprintf("%s on %s with a %s child", sdk.name, world.TransportNames[overWeb], world.EraNames[modernChild]), func(t *testing.T) {
					t.Parallel()
					w := world.New(t)
					got := sdk.play(w, w.Witnessed(modernChild, overWeb), overWeb, sdk.version)
					first, _, _ := strings.Cut(got.Texts["outside"], "\n")
					got.Texts["outside"] = first
					want := wantPlayed(w, sdk.version)
					if sdk.quits && overWeb {
						delete(want.Texts, "cancel")
						delete(got.Texts, "cancel")
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("what came of it (+) is not what should have (-):\n%s", diff)
					}
				})
			}
		}
	}
}

// typeScript plays by clients/play.mjs.
func typeScript(sdk string, mode any) func(*world.World, *world.Witnessed, bool, string) played {
	return func(w *world.World, hub *world.Witnessed, overWeb bool, _ string) played {
		w.T.Helper()
		n := world.RequireNode(w.T)
		scenario := obj{"sdk": sdk, "mode": mode, "prefix": "kid__", "roots": rootsOf(w.Project), "inside": w.Path("project", "hello.txt")}
		if overWeb {
			scenario["url"] = hub.OnWeb().URL
			scenario["headers"] = world.BearingHeaders(w.T, scenario["url"].(string))
		} else {
			entry := w.Tapped("hub", world.Hub(w.T), hub.Serve()...)
			env := envObject(w)
			for name, value := range entry["env"].(obj) {
				env[name] = value
			}
			scenario["command"], scenario["args"], scenario["env"], scenario["cwd"] = entry["command"], entry["args"], env, w.Home
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "clients", "play.mjs"))
		cmd.Env, cmd.Stdin = w.Env(), strings.NewReader(world.Raw(w.T, scenario))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			w.T.Fatalf("the SDK client: %v\n%s", err, errs.Bytes())
		}
		var p played
		world.Must(w.T, json.Unmarshal(out.Bytes(), &p))
		// The SDK forgets who waits for progress when it reads the answer, before it has handed out what came in the same read.
		if want := []float64{0, 50, 100}; slices.Equal(p.Progress, want[:len(p.Progress)]) {
			p.Progress = want
		}
		return p
	}
}

// player is a client of a Go SDK.
type player interface {
	// call gives the texts of a result; token is for progress, "" for none.
	call(ctx context.Context, tool string, args obj, token string) (text string, failed bool, err error)
	// list lists prompts and gives the names of the tools.
	list(ctx context.Context) ([]string, error)
	follow(ctx context.Context, uri string) error
}

// heard is what a client is told and asked beside its calls.
type heard struct {
	mu      sync.Mutex
	changed chan struct{} // closed and made again at each change
	tools   int           // times that it was told about a change of the tools
	quits   bool          // it does not tell the hub what it gives up
	played
}

func newHeard() *heard {
	return &heard{changed: make(chan struct{}), played: played{Texts: map[string]string{}, Asked: map[string]int{}}}
}

func (h *heard) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *heard) asked(method string) { h.note(func() { h.Asked[method]++ }) }

func (h *heard) told(what string) {
	h.note(func() {
		if what == "tools" {
			h.tools++
		}
		if !slices.Contains(h.Changed, what) {
			h.Changed = append(h.Changed, what)
		}
	})
}

// progressed takes a report; waits is the token of the call that is to be cancelled.
func (h *heard) progressed(token any, progress float64) {
	h.note(func() {
		if fmt.Sprint(token) == "steps" {
			h.Progress = append(h.Progress, progress)
		} else {
			h.Texts["under way"] = "yes"
		}
	})
}

// until waits until ok, which is called under the lock.
func (h *heard) until(ctx context.Context, ok func() bool) error {
	for {
		h.mu.Lock()
		done, changed := ok(), h.changed
		h.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// play goes through the steps of wantPlayed.
func (h *heard) play(w *world.World, p player) played {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*world.WaitLimit)
	defer cancel()
	step := func(name, tool string, args obj, token string) {
		text, failed, err := p.call(ctx, "kid__"+tool, args, token)
		switch {
		case err != nil:
			text = err.Error()
		case failed:
			text = "failed: " + text
		}
		h.note(func() { h.Texts[name] = text })
	}
	told := func(what string) {
		if err := h.until(ctx, func() bool { return slices.Contains(h.Changed, what) }); err != nil {
			w.T.Errorf("was not told that %s changed: %v", what, err)
		}
	}
	_, err := p.list(ctx)
	world.Must(w.T, err)
	step("call", "test_simple_text", obj{}, "")
	step("progress", "test_tool_with_progress", obj{}, "steps")
	world.Must(w.T, h.until(ctx, func() bool { return len(h.Progress) >= 3 }))
	wait, takeBack := context.WithCancel(ctx)
	defer takeBack()
	ended := make(chan error, 1)
	go func() {
		_, _, err := p.call(wait, "kid__wait", obj{"ms": 600_000}, "waits")
		ended <- err
	}()
	world.Must(w.T, h.until(ctx, func() bool { return h.Texts["under way"] != "" }))
	takeBack()
	if err := <-ended; err == nil {
		w.T.Error("what was cancelled was answered")
	}
	if !h.quits {
		step("cancel", "await_cancelled", obj{}, "")
	}
	step("elicitation", "test_elicitation", obj{"message": "who are you?"}, "")
	step("sampling", "test_sampling", obj{"prompt": "what is it?"}, "")
	step("roots", "list_roots", obj{}, "")
	step("all", "test_input_required_result_multiple_inputs", obj{}, "")
	world.Must(w.T, p.follow(ctx, "test://watched-resource"))
	step("change", "test_trigger_tool_change", obj{}, "")
	// It may have been told about a change before: while children start there are some.
	for seen := 0; ; {
		all, err := p.list(ctx)
		world.Must(w.T, err)
		if slices.Contains(all, "kid__added_later") {
			break
		}
		world.Must(w.T, h.until(ctx, func() bool { return h.tools > seen }))
		h.note(func() { seen = h.tools })
	}
	told("tools")
	step("later", "added_later", obj{}, "")
	step("prompts", "test_trigger_prompt_change", obj{}, "")
	told("prompts")
	step("update", "touch_watched_resource", obj{}, "")
	told("resource")
	step("inside", "takes_path", obj{"path": w.Path("project", "hello.txt")}, "")
	step("outside", "takes_path", obj{"path": "/etc/passwd"}, "")
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.Texts, "under way")
	slices.Sort(h.Changed)
	return h.played
}

// hubCommand returns the hub on stdio with a witness before it, for an SDK to start.
func hubCommand(w *world.World, hub *world.Witnessed) *exec.Cmd {
	w.T.Helper()
	entry := w.Tapped("hub", world.Hub(w.T), hub.Serve()...)
	cmd := exec.Command(entry["command"].(string), entry["args"].([]string)...)
	cmd.Dir, cmd.Env = w.Home, w.Env()
	for name, value := range entry["env"].(obj) {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%v", name, value))
	}
	return cmd
}

// form answers the forms of the fixture.
func form(schema any) map[string]any {
	var s struct{ Properties map[string]any }
	b, err := json.Marshal(schema)
	if err != nil || json.Unmarshal(b, &s) != nil {
		return nil
	}
	content := map[string]any{}
	for name, value := range map[string]any{"username": "Ada", "email": "ada@example.org", "name": "Ada"} {
		if s.Properties[name] != nil {
			content[name] = value
		}
	}
	return content
}

// goPlayer is the official Go SDK.
type goPlayer struct{ *gosdk.ClientSession }

func playGoSDK(w *world.World, hub *world.Witnessed, overWeb bool, version string) played {
	w.T.Helper()
	h := newHeard()
	c := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, &gosdk.ClientOptions{
		CreateMessageHandler: func(context.Context, *gosdk.CreateMessageRequest) (*gosdk.CreateMessageResult, error) {
			h.asked("sampling/createMessage")
			return &gosdk.CreateMessageResult{Model: "m", Role: "assistant", Content: &gosdk.TextContent{Text: "forty-two"}}, nil
		},
		ElicitationHandler: func(_ context.Context, req *gosdk.ElicitRequest) (*gosdk.ElicitResult, error) {
			h.asked("elicitation/create")
			return &gosdk.ElicitResult{Action: "accept", Content: form(req.Params.RequestedSchema)}, nil
		},
		ToolListChangedHandler:   func(context.Context, *gosdk.ToolListChangedRequest) { h.told("tools") },
		PromptListChangedHandler: func(context.Context, *gosdk.PromptListChangedRequest) { h.told("prompts") },
		ResourceUpdatedHandler:   func(context.Context, *gosdk.ResourceUpdatedNotificationRequest) { h.told("resource") },
		ProgressNotificationHandler: func(_ context.Context, req *gosdk.ProgressNotificationClientRequest) {
			h.progressed(req.Params.ProgressToken, req.Params.Progress)
		},
	})
	c.AddRoots(&gosdk.Root{URI: ide.FileURI(w.Project)})
	c.AddSendingMiddleware(keepsNoList)
	var via gosdk.Transport
	web := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
	if overWeb {
		via = &gosdk.StreamableClientTransport{Endpoint: hub.OnWeb().URL, HTTPClient: web}
	} else {
		via = &gosdk.CommandTransport{Command: hubCommand(w, hub)}
	}
	s, err := c.Connect(context.Background(), via, &gosdk.ClientSessionOptions{ProtocolVersion: version})
	world.Must(w.T, err)
	defer func() {
		if err := s.Close(); err != nil {
			w.T.Errorf("closing the session: %v", err)
		}
		web.CloseIdleConnections()
	}()
	got := h.play(w, goPlayer{s})
	got.Version = s.InitializeResult().ProtocolVersion
	return got
}

// keepsNoList keeps the SDK from caching lists. SDK 1.8.0 caches a list after it has handed on the change that came
// behind that list, if the change is quicker: then it gives the old list for the whole ttlMs (see docs/peers.md).
func keepsNoList(next gosdk.MethodHandler) gosdk.MethodHandler {
	return func(ctx context.Context, method string, req gosdk.Request) (gosdk.Result, error) {
		r, err := next(ctx, method, req)
		switch r := r.(type) {
		case *gosdk.ListToolsResult:
			r.TTLMs = 0
		case *gosdk.ListPromptsResult:
			r.TTLMs = 0
		}
		return r, err
	}
}

func (p goPlayer) call(ctx context.Context, tool string, args obj, token string) (string, bool, error) {
	params := &gosdk.CallToolParams{Name: tool, Arguments: args}
	if token != "" {
		params.SetProgressToken(token)
	}
	r, err := p.CallTool(ctx, params)
	if err != nil {
		return "", true, err
	}
	var text string
	for _, c := range r.Content {
		if t, ok := c.(*gosdk.TextContent); ok {
			text += t.Text
		}
	}
	return text, r.IsError, nil
}

func (p goPlayer) list(ctx context.Context) (all []string, err error) {
	tools, err := p.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range tools.Tools {
		all = append(all, tool.Name)
	}
	_, err = p.ListPrompts(ctx, nil)
	return all, err
}

func (p goPlayer) follow(ctx context.Context, uri string) error {
	return p.Subscribe(ctx, &gosdk.SubscribeParams{URI: uri})
}

// mcpGoPlayer is mcp-go.
type mcpGoPlayer struct {
	*mcpclient.Client
	*heard
	modern       bool
	acknowledged bool   // guarded by heard
	stop         func() // ends the subscription
}

type fixedRoots []string

func (r fixedRoots) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	out := &mcp.ListRootsResult{}
	for _, d := range r {
		out.Roots = append(out.Roots, mcp.Root{URI: ide.FileURI(d)})
	}
	return out, nil
}

func playMCPGo(w *world.World, hub *world.Witnessed, overWeb bool, version string) played {
	w.T.Helper()
	p := &mcpGoPlayer{heard: newHeard(), modern: version == world.ModernVersion}
	p.quits = overWeb && !p.modern
	options := []mcpclient.ClientOption{mcpclient.WithRootsHandler(fixedRoots{w.Project}), mcpclient.WithSamplingHandler(p), mcpclient.WithElicitationHandler(p)}
	if !p.modern {
		options = append(options, mcpclient.WithLegacyProtocolOnly())
	}
	web := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
	if overWeb {
		how := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(web)}
		if !p.modern {
			how = append(how, transport.WithContinuousListening())
		}
		via, err := transport.NewStreamableHTTP(hub.OnWeb().URL, how...)
		world.Must(w.T, err)
		p.Client = mcpclient.NewClient(via, options...)
	} else {
		cmd := hubCommand(w, hub)
		via := transport.NewStdioWithOptions(cmd.Path, nil, cmd.Args[1:], transport.WithCommandFunc(
			func(ctx context.Context, _ string, _ []string, _ []string) (*exec.Cmd, error) {
				started := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
				started.Dir, started.Env, started.Stderr = cmd.Dir, cmd.Env, io.Discard
				return started, nil
			}))
		p.Client = mcpclient.NewClient(via, options...)
	}
	world.Must(w.T, p.Start(context.Background()))
	defer func() {
		if err := p.Close(); err != nil {
			w.T.Errorf("closing the session: %v", err)
		}
		web.CloseIdleConnections()
	}()
	p.OnNotification(func(n mcp.JSONRPCNotification) {
		switch n.Method {
		case "notifications/tools/list_changed":
			p.told("tools")
		case "notifications/prompts/list_changed":
			p.told("prompts")
		case "notifications/resources/updated":
			p.told("resource")
		case "notifications/subscriptions/acknowledged":
			p.note(func() { p.acknowledged = true })
		case "notifications/progress":
			progress, _ := n.Params.AdditionalFields["progress"].(float64)
			p.progressed(n.Params.AdditionalFields["progressToken"], progress)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	_, err := p.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: version, ClientInfo: mcp.Implementation{Name: "mcp-go", Version: "1"}}})
	world.Must(w.T, err)
	got := p.play(w, p)
	if p.stop != nil {
		p.stop()
	}
	got.Version = p.ProtocolVersion()
	return got
}

// CreateMessage implements mcp-go's SamplingHandler.
func (p *mcpGoPlayer) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	p.asked("sampling/createMessage")
	return &mcp.CreateMessageResult{SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.TextContent{Type: "text", Text: "forty-two"}}, Model: "m"}, nil
}

// Elicit implements mcp-go's ElicitationHandler.
func (p *mcpGoPlayer) Elicit(_ context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	p.asked("elicitation/create")
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: form(req.Params.RequestedSchema)}}, nil
}

func (p *mcpGoPlayer) call(ctx context.Context, tool string, args obj, token string) (string, bool, error) {
	params := mcp.CallToolParams{Name: tool, Arguments: args}
	if token != "" {
		params.Meta = &mcp.Meta{ProgressToken: token}
	}
	r, err := p.CallTool(ctx, mcp.CallToolRequest{Params: params})
	if err != nil {
		return "", true, err
	}
	var text string
	for _, part := range r.Content {
		if t, ok := part.(mcp.TextContent); ok {
			text += t.Text
		}
	}
	return text, r.IsError, nil
}

func (p *mcpGoPlayer) list(ctx context.Context) (all []string, err error) {
	tools, err := p.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	for _, tool := range tools.Tools {
		all = append(all, tool.Name)
	}
	_, err = p.ListPrompts(ctx, mcp.ListPromptsRequest{})
	return all, err
}

func (p *mcpGoPlayer) follow(ctx context.Context, uri string) error {
	if !p.modern {
		return p.Subscribe(ctx, mcp.SubscribeRequest{Params: mcp.SubscribeParams{URI: uri}})
	}
	stop, err := p.ListenAsync(context.WithoutCancel(ctx),
		mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourceSubscriptions: []string{uri}},
		func(err error) { p.note(func() { p.Texts["listening"] = err.Error() }) })
	if err != nil {
		return err
	}
	p.stop = stop
	return p.until(ctx, func() bool { return p.acknowledged || p.Texts["listening"] != "" })
}
