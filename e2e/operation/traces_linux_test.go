//go:build otlp

package operation

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"mcphub/e2e/world"
)

// A collector is built of OpenTelemetry's own modules. It writes what it takes to a file.
type collector struct {
	endpoint, file, logs string
	start                func()
}

// built builds a program, in a folder of this tree, into one of the test.
func built(t *testing.T, folder string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", append(append([]string{"build", "-o", file}, args...), ".")...)
	cmd.Dir = folder
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", folder, err, said)
	}
	return file
}

// collect makes a collector, which has not started.
func collect(w *world.World) *collector {
	port := world.FreePort(w.T)
	c := &collector{endpoint: "http://127.0.0.1:" + port, file: w.Path("traces.json"), logs: w.Path("logs.json")}
	config := w.Write("collector.yaml", fmt.Sprintf(`receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:%s" } } } }
exporters: { file/traces: { path: %q }, file/logs: { path: %q } }
service:
  pipelines: { traces: { receivers: [otlp], exporters: [file/traces] }, logs: { receivers: [otlp], exporters: [file/logs] } }
  telemetry: { metrics: { level: none } }
`, port, c.file, c.logs))
	program := built(w.T.(*testing.T), world.Source("e2e", "collector"))
	c.start = func() {
		w.Listening(exec.Command(program, "--config", "file:"+config), regexp.MustCompile(`(Everything is ready)`))
	}
	return c
}

// A span is one in the collector's file.
type span struct {
	Trace      string `json:"traceId"`
	ID         string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	State      string `json:"traceState"`
	Name       string `json:"name"`
	Kind       int    `json:"kind"` // 2: server, 3: client
	Status     struct{ Code int }
	Attributes []struct {
		Key   string
		Value struct{ StringValue string }
	}
}

func (s *span) get(name string) string {
	for _, a := range s.Attributes {
		if a.Key == name {
			return a.Value.StringValue
		}
	}
	return ""
}

// of waits for n spans of a trace, by their ids.
func (c *collector) of(t *testing.T, id trace.TraceID, n int) map[string]*span {
	t.Helper()
	found := map[string]*span{}
	if !world.Within(world.WaitLimit, func() bool {
		clear(found)
		text, _ := os.ReadFile(c.file)
		for line := range bytes.Lines(text) {
			var batch struct {
				ResourceSpans []struct {
					ScopeSpans []struct{ Spans []*span }
				}
			}
			if json.Unmarshal(line, &batch) != nil {
				continue // it is being written
			}
			for _, r := range batch.ResourceSpans {
				for _, s := range r.ScopeSpans {
					for _, one := range s.Spans {
						if one.Trace == id.String() {
							found[one.ID] = one
						}
					}
				}
			}
		}
		return len(found) >= n
	}) {
		t.Fatalf("%d spans of the trace reached the collector, want %d", len(found), n)
	}
	return found
}

// party makes the spans of the programs before and behind the hub.
func party(t *testing.T, endpoint, name string) (trace.Tracer, func()) {
	t.Helper()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(endpoint+"/v1/traces"))
	world.Must(t, err)
	p := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	return p.Tracer(name), func() { world.Must(t, p.Shutdown(context.Background())) }
}

// sentTo returns the texts in _meta of the call that reached the child with a text.
func sentTo(t *testing.T, w *world.World, text string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for line := range strings.Lines(w.Recorded("rec")) {
		at := strings.Index(line, `{"jsonrpc"`)
		if at < 0 || !strings.Contains(line, `"text":"`+text+`"`) {
			continue
		}
		var m struct {
			Params struct {
				Meta map[string]any `json:"_meta"`
			}
		}
		world.Decode(t, []byte(strings.TrimSpace(line[at:])), &m)
		for key, value := range m.Params.Meta {
			if text, ok := value.(string); ok {
				got[key] = text
			}
		}
	}
	return got
}

// TestTracesReachACollector: the client's span, both of the hub and the child's are one trace, one within the other, in
// OpenTelemetry's own collector: in both eras, over both fronts, with the context in _meta and in the headers.
func TestTracesReachACollector(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	at := collect(w)
	at.start()
	hub := built(t, world.Source("cmd", "mcphub"), "-tags", "otlp")
	rec := w.Recorder("rec")
	rec["share"], rec["sandbox"] = "all", "off"
	config := w.Config(obj{"rec": rec})
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + at.endpoint, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_SERVICE_NAME=hub-under-test"}
	url := w.Listening(exec.Command(hub, "serve", "--http", "127.0.0.1:0", "--config", config), regexp.MustCompile(`serving (http://\S+/mcp)`), env...)

	post := func(t *testing.T, frame string, header ...string) (string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(frame))
		world.Must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+world.TokenOf(t, url))
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		world.Must(t, err)
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		world.Must(t, err)
		return string(b), resp.Header
	}
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	_, h := post(t, initialize)
	session := []string{"Mcp-Session-Id", h.Get("Mcp-Session-Id"), "MCP-Protocol-Version", "2025-11-25"}
	post(t, initialized, session...)

	pipe := func() func(t *testing.T, frame string) string {
		cmd := exec.Command(hub, "serve", "--config", config)
		cmd.Env, cmd.Dir = w.Env(env...), w.Home
		in, out := world.Converse(t, cmd)
		lines := bufio.NewScanner(out)
		return func(t *testing.T, frame string) string {
			_, err := io.WriteString(in, frame+"\n")
			world.Must(t, err)
			for strings.Contains(frame, `"id":`) && lines.Scan() {
				if strings.Contains(lines.Text(), `"id":`) && !strings.Contains(lines.Text(), `"method":`) {
					return lines.Text()
				}
			}
			return ""
		}
	}
	older, newer := pipe(), pipe()
	older(t, initialize)
	older(t, initialized)

	const stateless = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	modernHeaders := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "rec__echo"}
	frame := func(text, meta string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rec__echo","arguments":{"text":"` + text + `"},"_meta":{` + strings.Trim(meta, ",") + `}}}`
	}
	for name, way := range map[string]struct {
		version, transport string
		inHeader           bool
		call               func(t *testing.T, text, meta string, header []string) string
	}{
		"stdio 2025-11-25": {"2025-11-25", "pipe", false, func(t *testing.T, text, meta string, _ []string) string { return older(t, frame(text, meta)) }},
		"stdio 2026-07-28": {"2026-07-28", "pipe", false, func(t *testing.T, text, meta string, _ []string) string {
			return newer(t, frame(text, stateless+meta))
		}},
		"http 2025-11-25": {"2025-11-25", "tcp", false, func(t *testing.T, text, meta string, _ []string) string {
			said, _ := post(t, frame(text, meta), session...)
			return said
		}},
		"http 2025-11-25, headers": {"2025-11-25", "tcp", true, func(t *testing.T, text, _ string, header []string) string {
			said, _ := post(t, frame(text, ""), append(header, session...)...)
			return said
		}},
		"http 2026-07-28": {"2026-07-28", "tcp", false, func(t *testing.T, text, meta string, _ []string) string {
			said, _ := post(t, frame(text, stateless+meta), modernHeaders...)
			return said
		}},
		"http 2026-07-28, headers": {"2026-07-28", "tcp", true, func(t *testing.T, text, _ string, header []string) string {
			said, _ := post(t, frame(text, stateless), append(header, modernHeaders...)...)
			return said
		}},
	} {
		t.Run(name, func(t *testing.T) {
			clients, sentByClient := party(t, at.endpoint, "client")
			servers, sentByServer := party(t, at.endpoint, "child")
			ctx, outer := clients.Start(t.Context(), "the client's call", trace.WithSpanKind(trace.SpanKindClient))
			carrier := propagation.MapCarrier{"tracestate": "vendor=1", "baggage": "k=v"}
			propagation.TraceContext{}.Inject(ctx, carrier)
			meta, header := "", []string(nil)
			for key, value := range map[string]string{"traceparent": carrier["traceparent"], "tracestate": "vendor=1", "baggage": "k=v"} {
				meta, header = meta+fmt.Sprintf(`,%q:%q`, key, value), append(header, key, value)
			}
			text := "secret of " + name
			if said := way.call(t, text, meta, header); !strings.Contains(said, text) {
				t.Fatalf("the call was answered with %s", said)
			}
			outer.End()
			got := sentTo(t, w, text)
			if got["tracestate"] != "vendor=1" || got["baggage"] != "k=v" {
				t.Errorf("the child was sent %q", got)
			}
			_, inner := servers.Start(propagation.TraceContext{}.Extract(t.Context(), propagation.MapCarrier(got)), "the child's call", trace.WithSpanKind(trace.SpanKindServer))
			inner.End()
			sentByClient()
			sentByServer()

			id := outer.SpanContext().TraceID()
			spans := at.of(t, id, 4)
			child := spans[inner.SpanContext().SpanID().String()]
			if child == nil {
				t.Fatalf("the child's span is of the trace %s, want %s", inner.SpanContext().TraceID(), id)
			}
			toChild := spans[child.Parent]
			if toChild == nil || spans[toChild.Parent] == nil {
				t.Fatalf("the child's span has no span of the hub above it: %+v", spans)
			}
			ofClient := spans[toChild.Parent]
			if ofClient.Parent != outer.SpanContext().SpanID().String() {
				t.Errorf("the hub's span is within %q, want the client's", ofClient.Parent)
			}
			for _, s := range []*span{toChild, ofClient} {
				for key, want := range map[string]string{
					"mcp.method.name": "tools/call", "gen_ai.tool.name": "echo", "gen_ai.operation.name": "execute_tool", "mcphub.server.name": "rec", "error.type": "",
				} {
					if s.get(key) != want {
						t.Errorf("%s: %s is %q, want %q", s.Name, key, s.get(key), want)
					}
				}
				if s.Name != "tools/call echo" || s.State != "vendor=1" {
					t.Errorf("%+v", s)
				}
			}
			if toChild.Kind != 3 || toChild.get("network.transport") != "pipe" || ofClient.Kind != 2 || ofClient.get("network.transport") != way.transport ||
				ofClient.get("mcp.protocol.version") != way.version || ofClient.get("jsonrpc.request.id") != "7" || ofClient.get("mcphub.decision") != "allow" {
				t.Errorf("%+v\n%+v", ofClient, toChild)
			}
			if way.version == "2025-11-25" && (ofClient.get("mcp.session.id") == "" || ofClient.get("mcp.session.id") == session[1]) {
				t.Errorf("the session is %q", ofClient.get("mcp.session.id"))
			}
		})
	}
	text, err := os.ReadFile(at.file)
	world.Must(t, err)
	if bytes.Contains(text, []byte("secret")) || !bytes.Contains(text, []byte("hub-under-test")) {
		t.Error("a span has an argument, or the hub was not named by OTEL_SERVICE_NAME")
	}
}

// A logRecord is one in the collector's file.
type logRecord struct {
	Body       struct{ StringValue string }
	Attributes []struct {
		Key   string
		Value struct{ StringValue string }
	}
}

// records returns the log records that the collector has, and the lines that are their bodies.
func (c *collector) records() (all []logRecord, lines string) {
	text, _ := os.ReadFile(c.logs)
	for line := range bytes.Lines(text) {
		var batch struct {
			ResourceLogs []struct {
				ScopeLogs []struct{ LogRecords []logRecord }
			}
		}
		if json.Unmarshal(line, &batch) != nil {
			continue // it is being written
		}
		for _, r := range batch.ResourceLogs {
			for _, s := range r.ScopeLogs {
				all = append(all, s.LogRecords...)
			}
		}
	}
	for _, r := range all {
		if r.Body.StringValue != "" {
			lines += r.Body.StringValue + "\n"
		}
	}
	return all, lines
}

// TestTheRecordReachesACollector: OpenTelemetry's own collector has each line of the record, although it starts after the calls, and a decision names who has called what.
// A denial is among them.
func TestTheRecordReachesACollector(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	at := collect(w)
	hub := built(t, world.Source("cmd", "mcphub"), "-tags", "otlp")
	root := w.Path("root")
	world.Must(t, os.MkdirAll(root, 0o755))
	config := w.Config(obj{"rec": w.Recorder("rec")})
	say, end := converse(t, w, hub, []string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=" + at.endpoint + "/v1/logs"}, "--config", config, "--roots", root)
	say(echoOf(1, filepath.Join(root, "a"), "x"))
	say(echoOf(2, "/etc/passwd", "x"))
	at.start()
	has := func(decision string) bool {
		all, _ := at.records()
		for i := range all {
			got := map[string]string{}
			for _, a := range all[i].Attributes {
				got[a.Key] = a.Value.StringValue
			}
			if got["mcphub.decision"] == decision && got["mcphub.client.name"] == "asker 7" && got["mcphub.server.name"] == "rec" && got["gen_ai.tool.name"] == "echo" && got["mcphub.principal"] != "" {
				return true
			}
		}
		return false
	}
	if !world.Within(world.WaitLimit, func() bool { return has("allow") && has("deny") }) {
		all, _ := at.records()
		t.Fatalf("%d log records, none of them of both calls: %+v", len(all), all)
	}
	end()
	var files, lines string
	if !world.Within(world.WaitLimit, func() bool {
		files = recordOf(t, w)
		_, lines = at.records()
		return strings.Contains(files, `"kind":"close"`) && lines == files
	}) {
		t.Errorf("the collector has\n%s\nand the file\n%s", lines, files)
	}
}
