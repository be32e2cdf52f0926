//go:build otlp

package otlp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/internal/tracing"
)

// receiver takes what is exported, and counts requests and bytes: it is no collector.
func receiver(t testing.TB) (requests, bytes *atomic.Int64) {
	requests, bytes = new(atomic.Int64), new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		bytes.Add(n)
		requests.Add(1)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	return requests, bytes
}

func open(t testing.TB) *Tracing {
	t.Helper()
	tracer, err := Open(t.Context(), "1.2.3", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// call makes the two spans of a call, and returns their contexts.
func call(t *Tracing, in tracing.Context) (server, client tracing.Context) {
	with := []tracing.Attribute{
		{Name: "mcp.method.name", Value: "tools/call"}, {Name: "gen_ai.tool.name", Value: "echo"}, {Name: "gen_ai.operation.name", Value: "execute_tool"},
		{Name: "mcphub.server.name", Value: "kid"}, {Name: "mcp.protocol.version", Value: "2025-11-25"}, {Name: "network.transport", Value: "pipe"}, {Name: "gen_ai.prompt.name"},
	}
	now := time.Now()
	outer := t.Begin(tracing.Start{Name: "tools/call echo", Parent: in, At: now, Attributes: append(with, tracing.Attribute{Name: "mcp.session.id", Value: "s"}, tracing.Attribute{Name: "jsonrpc.request.id", Value: "7"})})
	inner := t.Begin(tracing.Start{Name: "tools/call echo", Client: true, Within: outer, At: now, Attributes: with})
	server, client = outer.Context(), inner.Context()
	inner.End(now, false, tracing.Attribute{Name: "error.type"})
	outer.End(now, false, tracing.Attribute{Name: "mcphub.decision", Value: "allow"}, tracing.Attribute{Name: "mcphub.rule", Value: "inside"})
	return server, client
}

func TestContextsOfSpans(t *testing.T) {
	requests, bytes := receiver(t)
	tracer := open(t)
	in := tracing.Context{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1,b=2", Baggage: "k=v"}
	server, client := call(tracer, in)
	for _, c := range []tracing.Context{server, client} {
		if c.Parent[:36] != in.Parent[:36] || c.Parent[53:] != "01" || c.Parent == in.Parent || c.State != in.State || c.Baggage != in.Baggage || c != tracing.Checked(c.Parent, c.State, c.Baggage) {
			t.Errorf("%+v", c)
		}
	}
	if server == client {
		t.Error("both spans have one id")
	}
	unsampled := in
	unsampled.Parent = in.Parent[:53] + "00"
	if server, client = call(tracer, unsampled); server.Parent[53:] != "00" || client.Parent[53:] != "00" {
		t.Errorf("what its client does not sample: %+v", client)
	}
	if root, _ := call(tracer, tracing.Context{}); root != tracing.Checked(root.Parent, "", "") || root.Parent == "" {
		t.Errorf("of nothing: %+v", root)
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if requests.Load() == 0 || bytes.Load() == 0 {
		t.Error("nothing was sent before it was closed")
	}
}

// TestACollectorThatIsNotThere holds up nobody longer than Close is told.
func TestACollectorThatIsNotThere(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	tracer := open(t)
	for range 5000 { // more than the queue has room for
		call(tracer, tracing.Context{})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = tracer.Close(ctx) // it says that it was cut short
}

func BenchmarkCall(b *testing.B) {
	receiver(b)
	for _, sampled := range []string{"00", "01"} {
		b.Run(fmt.Sprint(sampled), func(b *testing.B) {
			tracer := open(b)
			in := tracing.Context{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + sampled}
			b.ReportAllocs()
			for b.Loop() {
				call(tracer, in)
			}
			b.StopTimer()
			_ = tracer.Close(context.Background())
		})
	}
}
