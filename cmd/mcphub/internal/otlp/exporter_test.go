//go:build otlp

package otlp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/hub/tracing"
)

// receiver takes what is exported, and counts requests and bytes: it is no collector.
func receiver(t testing.TB) (requests, bytes *atomic.Int64) {
	requests, bytes = new(atomic.Int64), new(atomic.Int64)
	take(t, func(body []byte) {
		bytes.Add(int64(len(body)))
		requests.Add(1)
	})
	return requests, bytes
}

func take(t testing.TB, body func([]byte)) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		body(all)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
}

// Texts of clients and servers, such as an id that was cut within a letter, take no other span with them that is sent with
// theirs. Control: a name of the SDK's own tracer does.
func TestTextsThatAreNotValid(t *testing.T) {
	for _, control := range []bool{false, true} {
		var mu sync.Mutex
		var got strings.Builder
		take(t, func(body []byte) {
			mu.Lock()
			defer mu.Unlock()
			got.Write(body)
		})
		t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
		tracer, now := open(t), time.Now()
		tracer.Begin(tracing.Start{Name: "beside", At: now}).End(now, false)
		if control {
			_, s := tracer.tracer.Start(t.Context(), "cut \xc3")
			s.End()
		} else {
			tracer.Begin(tracing.Start{Name: "cut \xc3", At: now, Attributes: []tracing.Attribute{{Name: "jsonrpc.request.id", Value: "\xe2\x82"}}}).End(now, false)
		}
		_ = tracer.Close(t.Context())
		if there := strings.Contains(got.String(), "beside"); there == control {
			t.Errorf("control %t: the span beside it arrived: %t", control, there)
		}
		if !control && !strings.Contains(got.String(), "cut \uFFFD") {
			t.Error("its own span did not arrive")
		}
	}
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

// TestACollectorThatIsNotThere holds up no one longer than Close is told.
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
