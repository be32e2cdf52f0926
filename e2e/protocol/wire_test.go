package protocol

import (
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// Every session of these tests checks in the end that stdout carried JSON-RPC alone; this one feeds it what is none.
func TestWrongLinesAreAnsweredAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	for i, line := range []string{
		"this is not JSON", `{"jsonrpc":"2.0","id":1,"method":`, "{", "\x00\x01\x02", "\xff\xfe", `{"jsonrpc":"2.0","id":1} trailing`, "'", "nul",
	} {
		world.Must(t, s.Send(line))
		nth := 0
		m, err := s.Await(s.Context(), "the answer to a line that is no JSON", func(m ide.Message) bool {
			e, failed := m.RPCError()
			if failed && string(m.ID) == "null" && e.Code == -32700 {
				nth++
			}
			return nth == i+1
		})
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e, _ := m.RPCError(); e.Message == "" {
			t.Errorf("%q: an error without words: %s", line, m.Raw)
		}
		s.MustRequest("ping", "")
	}
	s.MustCall("rec__echo", `{"text":"goes on"}`)
}

// Lines that are JSON and no request do no harm, whatever they are answered with.
func TestOddLinesDoNoHarm(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	s.Expect("77")
	for _, line := range []string{
		"", " ", "\r", "[]", "null", "7", `"x"`, `{}`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","method":"ping"}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":7}`, `{"jsonrpc":"2.0","id":77,"method":7}`,
		`{"jsonrpc":"2.0","method":"no/such/notification","params":{"x":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`,
		`{"jsonrpc":"2.0","id":"never asked","result":{}}`, `{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}`,
	} {
		world.Must(t, s.Send(line))
	}
	s.MustRequest("ping", "")
	s.MustCall("rec__echo", `{"text":"goes on"}`)
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	s.AwaitTool("rec__echo")
	s.RpcError("no/such/method", `{}`, -32601)
	s.RpcError("server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}`, -32022)
	s.RpcError("tools/call", ide.ToolParams("rec__nothing", `{}`), -32602)
	s.RpcError("tools/call", ide.ToolParams("nobody__echo", `{}`), -32602)
	s.RpcError("tools/call", ide.ToolParams("echo", `{}`), -32602)
	// The arguments are read strictly: what two parsers may read in two ways is refused (V1).
	for _, args := range []string{
		`{"path":"` + w.Project + `","path":"/etc/passwd"}`,
		`{"a":{"b":[{"c":1,"c":2}]}}`,
		`{"path":"x","p\u0061th":"/etc/passwd"}`,
		`{"text":"\ud83d lone"}`,
		`[]`, `"x"`, `7`,
		`{"deep":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
	} {
		s.RpcError("tools/call", ide.ToolParams("rec__echo", args), -32602)
	}
	// Bytes that are no UTF-8: the line or the arguments are at fault, the child sees neither.
	id := `"bad bytes"`
	s.Expect(id)
	before := len(s.Messages())
	world.Must(t, s.Send(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":`+ide.ToolParams("rec__echo", "{\"text\":\"\xff\"}")+`}`))
	s.MustRequest("ping", "")
	refused := false
	for _, m := range s.Messages()[before:] {
		if e, failed := m.RPCError(); failed && (e.Code == -32602 || e.Code == -32700) {
			refused = true
		}
	}
	if !refused {
		t.Error("bytes that are no UTF-8 were not refused")
	}
	if seen := w.Recorded("rec"); strings.Contains(seen, `"tools/call"`) {
		t.Errorf("a refused call reached the child:\n%s", seen)
	}
}

// The tool's own schema is checked before anything is sent; the answer is a tool result that names the place (V2).
func TestArgumentsThatBreakTheSchema(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	s.AwaitTool("rec__echo")
	for _, c := range []struct{ tool, args, place string }{
		{"rec__echo", `{"text":7}`, "/text"},
		{"rec__echo", `{"paths":["a",{"b":1}]}`, "/paths/1"},
		{"rec__sleep", `{"ms":-1}`, "/ms"},
		{"rec__sleep", `{}`, "ms"},
		{"rec__rich", `{"alpha":"a"}`, "zeta"},
		{"rec__rich", `{"zeta":"z1","x-y":7}`, "x-y"},
		{"rec__rich_draft07", `{"mode":"c"}`, "/mode"},
		{"rec__rich_draft07", `{"name":"con"}`, "/name"}, // a look-ahead, which Go's own expressions lack
		{"rec__rich_draft07", `{"unknown":1}`, "unknown"},
	} {
		r := s.AwaitCall(s.SendCall(c.tool, c.args))
		if !r.IsError || !strings.Contains(r.Text, c.place) {
			t.Errorf("%s %s: want a tool error that names %s, got %s", c.tool, c.args, c.place, r.Raw)
		}
	}
	if seen := w.Recorded("rec"); strings.Contains(seen, `"tools/call"`) {
		t.Errorf("a call that breaks the schema reached the child:\n%s", seen)
	}
	s.MustCall("rec__rich", `{"zeta":"z1"}`)
	s.MustCall("rec__rich_draft07", `{"name":"com","mode":"a"}`)
}

// A handshake with every version that has one, and with one that nobody knows.
func TestVersionsOfTheHandshake(t *testing.T) {
	t.Parallel()
	for ask, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		t.Run(ask, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", w.Config(obj{"rec": w.Recorder("rec")})},
				Protocol: ask, Roots: ide.Folders(w.Project)})
			var r struct {
				ProtocolVersion string
				Capabilities    struct {
					Tools *struct{ ListChanged bool }
				}
				ServerInfo struct{ Name, Version string }
			}
			world.Decode(t, s.Handshake().Result, &r)
			if r.ProtocolVersion != want || r.Capabilities.Tools == nil || !r.Capabilities.Tools.ListChanged || r.ServerInfo.Name == "" {
				t.Errorf("initialize: %+v, want version %s and tools with listChanged", r, want)
			}
			s.MustCall("rec__echo", `{}`)
			s.Denied("rec__echo", `{"path":"/etc/passwd"}`, "/etc/passwd", w.Project)
		})
	}
}
