package hub

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/e2e/childtest"
	"mcphub/hub/audit"
	"mcphub/hub/telemetry"
	"mcphub/hub/tracing"
	"mcphub/internal/jsonrpc"
)

// spanBook is a Tracer that keeps what it was told.
type spanBook struct {
	mu  sync.Mutex
	all []*bookedSpan
}

type bookedSpan struct {
	book  *spanBook
	start tracing.Start
	own   tracing.Context
	with  []tracing.Attribute
	bad   bool
	ended int
}

func (b *spanBook) Begin(s tracing.Start) tracing.Span {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := s.Parent
	if s.Within != nil {
		from = s.Within.Context()
	}
	own, id := from, "4bf92f3577b34da6a3ce929d0e0e4736"
	if from.Parent != "" {
		id = from.Parent[3:35]
	}
	own.Parent = fmt.Sprintf("00-%s-%016x-01", id, len(b.all)+1)
	made := &bookedSpan{book: b, start: s, own: own, with: slices.Clone(s.Attributes)}
	b.all = append(b.all, made)
	return made
}

func (s *bookedSpan) Context() tracing.Context { return s.own }

func (s *bookedSpan) End(_ time.Time, failed bool, more ...tracing.Attribute) {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.bad, s.with = failed, append(s.with, more...)
	s.ended++
}

func (s *bookedSpan) get(name string) string {
	for _, a := range s.with {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// take returns the spans so far, all of which have ended and tell no secret, and forgets them.
func (b *spanBook) take(t *testing.T) []*bookedSpan {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.all {
		if s.ended != 1 {
			t.Errorf("the span %s was ended %d times", s.start.Name, s.ended)
		}
		for _, a := range s.with {
			if strings.Contains(a.Value, "secret") {
				t.Errorf("the span %s has %+v", s.start.Name, a)
			}
		}
	}
	all := b.all
	b.all = nil
	return all
}

const (
	aTrace      = "0af7651916cd43dd8448eb211c80319c"
	aParent     = "00-" + aTrace + "-b7ad6b7169203331-01"
	carriesAll  = `"traceparent":"` + aParent + `","tracestate":"a=1","baggage":"k=v"`
	carriesNone = `"traceparent":"00-x","tracestate":"a=1","baggage":"k"`
)

// A tracedClient makes one call; meta are members of _meta, header pairs of the HTTP request.
type tracedClient func(t *testing.T, tool, arguments, meta string, header ...string) (result string)

// tracedClients returns the traced clients of both eras, over both fronts.
func tracedClients(t *testing.T, h *Hub) map[string]tracedClient {
	all := map[string]tracedClient{}
	for front, ask := range everyFront(t, h) {
		all[front] = func(t *testing.T, tool, arguments, meta string, header ...string) string {
			params := toolCall(tool, arguments)
			if meta != "" {
				params = with(params, `"_meta":{`+meta+`}`)
			}
			return string(ask(t, "tools/call", params, header...))
		}
	}
	return all
}

// carried returns the context that the child says it was sent.
func carried(result string) string {
	text, _ := jsonrpc.String(jsonrpc.Get(jsonrpc.Get([]byte(result), "_meta"), "carried"))
	return text
}

var headersOfATrace = []string{"Traceparent", aParent, "Tracestate", "a=1", "Baggage", "k=v"}

// TestContextsArePassedOn: a hub that does not trace has the child get what came, as it came, and drops what is no context.
func TestContextsArePassedOn(t *testing.T) {
	for _, era := range []string{"", "modern"} {
		h := newTestHub(t, scripted("kid", childtest.Script{Era: era}))
		for name, call := range tracedClients(t, h) {
			t.Run(name+" to "+era, func(t *testing.T) {
				overHTTP := strings.HasPrefix(name, "HTTP")
				// arguments without a path are fast; call-tool never is.
				for _, way := range [][2]string{{"kid__echo", `{"a":1.0}`}, {"call-tool", `{"serverName":"kid","toolName":"echo","toolArgs":{"a":1.0}}`}} {
					check := func(want, meta string, header ...string) {
						t.Helper()
						if got := carried(call(t, way[0], way[1], meta, header...)); got != want {
							t.Errorf("%s with %s %q: the child was sent %q, want %q", way[0], meta, header, got, want)
						}
					}
					check("", "")
					check(aParent+" a=1 k=v", carriesAll)
					check("", carriesNone)
					if !overHTTP {
						continue
					}
					check(aParent+" a=1 k=v", "", headersOfATrace...)
					check(aParent+" a=1 k=v", `"x":1`, headersOfATrace...)
					check(aParent+" a=1 own=1", `"baggage":"own=1"`, headersOfATrace...)
					const other = "00-11111111111111111111111111111111-2222222222222222-00"
					check(other+"  k=v", `"traceparent":"`+other+`"`, headersOfATrace...)
					check("", "", "Traceparent", "00-x", "Tracestate", "a=1")
				}
			})
		}
	}
}

// TestSpans: the hub's span of a request belongs to the client's trace, and the child is told the span of the request to it.
func TestSpans(t *testing.T) {
	for _, era := range []string{"", "modern"} {
		book := &spanBook{}
		cfg := testConfig(t, scripted("kid", childtest.Script{Era: era}))
		cfg.Telemetry = telemetry.New(telemetry.Options{Tracer: book})
		h := runHub(t, cfg)
		for name, call := range tracedClients(t, h) {
			t.Run(name+" to "+era, func(t *testing.T) {
				book.take(t)
				for _, way := range [][2]string{{"kid__echo", `{"a":"secret"}`}, {"call-tool", `{"serverName":"kid","toolName":"echo","toolArgs":{"a":"secret"}}`}} {
					for _, meta := range []string{carriesAll, "", carriesNone} {
						got := carried(call(t, way[0], way[1], meta))
						all := book.take(t)
						if len(all) != 2 {
							t.Fatalf("%d spans of a call, want 2", len(all))
						}
						server, client := all[0], all[1]
						if meta == carriesAll && (server.start.Parent != tracing.Context{Parent: aParent, State: "a=1", Baggage: "k=v"}) {
							t.Errorf("the span of the request is within %+v", server.start.Parent)
						}
						if meta != carriesAll && (server.start.Parent != tracing.Context{}) {
							t.Errorf("the span of a request that carries nothing is within %+v", server.start.Parent)
						}
						if client.start.Within != tracing.Span(server) || !client.start.Client || server.start.Client {
							t.Error("the span of the request to the server is not within that of the client's")
						}
						if want := client.own.Parent + " " + client.own.State + " " + client.own.Baggage; got != want {
							t.Errorf("the child was sent %q, want %q", got, want)
						}
						for _, s := range all {
							if s.start.Name != "tools/call echo" || s.get("gen_ai.tool.name") != "echo" || s.get("mcp.method.name") != "tools/call" || s.get("gen_ai.operation.name") != "execute_tool" ||
								s.get("mcphub.server.name") != "kid" || s.get("mcp.protocol.version") == "" || s.bad || s.get("error.type") != "" {
								t.Errorf("%s: %v", s.start.Name, s.with)
							}
						}
						if server.get("mcphub.decision") != "allow" || server.get("jsonrpc.request.id") == "" {
							t.Errorf("%v", server.with)
						}
					}
				}
				call(t, "call-tool", `{"serverName":"kid","toolName":"secret"}`, carriesAll)
				all := book.take(t)
				if len(all) != 1 || !all[0].bad || all[0].get("error.type") != "tool_error" || all[0].get("mcphub.decision") != "refuse" || all[0].start.Parent.Parent != aParent {
					t.Errorf("of a call that is refused: %+v", all)
				}
			})
		}
	}
}

// TestContextsAreRecorded: a line has what the client said, or the span of the hub if there is one.
func TestContextsAreRecorded(t *testing.T) {
	for _, traced := range []bool{false, true} {
		var watch *Telemetry
		if traced {
			watch = telemetry.New(telemetry.Options{Tracer: &spanBook{}})
		}
		r := newWatchedRecord(t, Audit{}, watch)
		paths := `{"path":"` + r.root + `/a.txt"}`
		for _, arguments := range []string{`{}`, paths, `{"path":"/etc/shadow"}`} {
			r.raw("tools/call", `{"name":"kid__echo","arguments":`+arguments+`,"_meta":{`+carriesAll+`}}`)
		}
		r.raw("tools/call", `{"name":"kid__echo","arguments":{}}`)
		all := r.decisions(t)
		if len(all) != 4 {
			t.Fatalf("%d decisions", len(all))
		}
		for i, d := range all[:3] {
			if d.State != "a=1" || d.Baggage != "k=v" || !strings.HasPrefix(d.Parent, "00-"+aTrace) || traced == (d.Parent == aParent) {
				t.Errorf("%d, traced %v: %+v", i, traced, d.Trace)
			}
		}
		if last := all[3].Trace; !traced && last != (audit.Trace{}) || traced && last.Parent == "" {
			t.Errorf("of a call that carries nothing, traced %v: %+v", traced, last)
		}
	}
}
