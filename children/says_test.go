package children

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/link"
	"mcphub/children/modernlink"
	"mcphub/children/negotiation"
	"mcphub/children/offers"
	"mcphub/children/remote"
	"mcphub/children/servedroots"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

// said is a ChildConnection to a child that answers every request with one result.
type said struct{ result []byte }

func (s said) Run(ctx context.Context) error                   { <-ctx.Done(); return nil }
func (s said) Notify(context.Context, string, ...[]byte) error { return nil }
func (s said) Facts() link.ConnectionFacts                     { return link.ConnectionFacts{} }
func (s said) Call(context.Context, string, ...[]byte) (*jsonrpc.Response, error) {
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split(append(append([]byte(`{"jsonrpc":"2.0","id":1,"result":`), s.result...), '}'), false, m); err != nil {
		return nil, err
	}
	return &jsonrpc.Response{Result: m.Result, Error: m.Error}, nil
}

// readsAll has everything read that a child's result may be read as.
func readsAll(t testing.TB, result []byte) {
	conn := said{result}
	_, _ = negotiation.Start(t.Context(), negotiation.Child{Link: conn, Shown: func() []byte { return []byte(`{}`) }, Era: spec.EraLegacy})
	_, _ = offers.Read(t.Context(), conn, &offers.RawOffer{Capabilities: []byte(`{"tools":{},"prompts":{},"resources":{}}`)}, offers.AllLists)
	res, err := conn.Call(t.Context(), "x")
	if err != nil {
		return
	}
	m := modernlink.New(conn, modernlink.ConnectionOptions{}, nil)
	ctx := link.WithClient(t.Context(), link.ClientProfile{})
	_ = m.Discover(ctx)
	_, _ = m.Call(ctx, "tools/call")
	_ = servedroots.Shows(res.Result, []string{"/a"})
	o := &offers.RawOffer{Capabilities: res.Result, ServerInfo: res.Result, Entries: offers.Entries{offers.Tools: {res.Result}}}
	_ = o.HasTool("x")
	_, _ = mirrored(t).LearnTools(o.Entries[offers.Tools])
	cache := filepath.Join(t.TempDir(), "catalogue")
	written := offers.NewMemory(cache, zerolog.Nop())
	written.Agree("kid", "d", o)
	written.Keep("kid")
	if back := offers.NewMemory(cache, zerolog.Nop()).Recall("kid", "d"); !back.Equal(o) {
		t.Errorf("an offer does not come back from the cache")
	}
}

// mirrored returns a ChildConnection that mirrors arguments of tools into headers.
func mirrored(t testing.TB) link.ToolsLearner {
	l, err := remote.Open(remote.Server{URL: "http://server.test"}, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return l.(link.StatelessConnection).Stateless().(link.ToolsLearner)
}

func nested(open, inner, shut string, depth int) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(shut, depth)
}

// deepest returns what is said at a depth, in the shapes in which it may be.
func deepest(depth int) []string {
	arrays, objects := nested("[", "", "]", depth), nested(`{"a":`, "1", "}", depth)
	schema := nested(`{"type":"object","properties":{"a":`, `{}`, "}}", depth/2)
	return []string{
		arrays, objects, `{"capabilities":` + objects + `,"serverInfo":` + objects + `,"protocolVersion":"2025-06-18"}`,
		`{"tools":[{"name":"x","inputSchema":` + schema + `}],"nextCursor":` + arrays + `}`,
		`{"tools":` + arrays + `,"supportedVersions":` + arrays + `,"ttlMs":` + arrays + `,"cacheScope":` + arrays + `,"content":` + arrays + `,"resultType":` + arrays + `}`,
		`{"_meta":` + objects + `}`, strings.Repeat("[", depth),
	}
}

// TestDepthOfWhatChildrenSay: no part of a child is read by what recurses before its
// depth was bounded: the strict reading of a frame does that, at 10,000.
func TestDepthOfWhatChildrenSay(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{9_000, 100_000} {
		for _, text := range deepest(depth) {
			readsAll(t, []byte(text))
		}
	}
	if _, err := (said{[]byte(nested("[", "", "]", 9_000))}).Call(t.Context(), "x"); err != nil {
		t.Errorf("control: what is not too deep is refused: %v", err)
	}
	if _, err := (said{[]byte(nested("[", "", "]", 100_000))}).Call(t.Context(), "x"); err == nil {
		t.Error("a frame of any depth is taken")
	}
}

// FuzzWhatChildrenSay wants no panic of anything that reads a child's result.
func FuzzWhatChildrenSay(f *testing.F) {
	for _, text := range append(deepest(50), `{}`, `null`, `{"tools":[null,7,{"name":"x","inputSchema":{"properties":{"a":{"x-mcp-header":"A"}}}}]}`) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, result []byte) { readsAll(t, result) })
}
