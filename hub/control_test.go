package hub

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"mcphub/hub/configuration"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// TestTheControlPlaneAnswersAsMCPGoDoes: initialize, and methods that the era of the handshake does not have.
func TestTheControlPlaneAnswersAsMCPGoDoes(t *testing.T) {
	t.Parallel()
	h := &Hub{}
	if err := h.buildControl(&configuration.About{Name: "hub", Title: "A hub"}, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	s := &Session{hub: h}
	theirs := server.NewMCPServer("hub", "1.2.3", server.WithTitle("A hub"), server.WithToolCapabilities(true), server.WithPromptCapabilities(true),
		server.WithResourceCapabilities(true, true), server.WithCompletions(), server.WithLogging(), server.WithTaskCapabilities(true, true, true), server.WithInstructions(instructions))
	ask := func(method, params string) (result, fault []byte) {
		frame := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
		raw, err := json.Marshal(theirs.HandleMessage(t.Context(), json.RawMessage(frame)))
		if err != nil {
			t.Fatal(err)
		}
		return jsonrpc.Get(raw, "result"), jsonrpc.Get(raw, "error")
	}
	for _, version := range append([]string{"", "1999-01-01", "2026-07-28"}, mcp.ValidProtocolVersions...) {
		for range 2 { // the second one is what was kept of the first
			want, _ := ask("initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"","version":""}}`)
			if got := s.negotiateVersion(version); len(want) == 0 || !bytes.Equal(got.Result, want) {
				t.Errorf("%q: %s, and mcp-go answers %s", version, got.Result, want)
			}
		}
	}
	for _, method := range []string{methods.Discover, methods.Listen, methods.UpdateTask, methods.ListRoots, methods.Initialized, "no/such"} {
		_, want := ask(method, `{}`)
		if got := s.refuseMethod(t.Context(), &jsonrpc.Message{Method: method}); len(want) == 0 || !bytes.Equal(got.Error, want) {
			t.Errorf("%s: %s, and mcp-go answers %s", method, got.Error, want)
		}
	}
}
