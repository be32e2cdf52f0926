package hub

import (
	"context"
	"net/http"
	"testing"

	"mcphub/e2e/fronttest"
	"mcphub/internal/jsonrpc"
)

// bubbleWeb returns an HTTP front in a bubble of its own; stop ends it.
func bubbleWeb(t *testing.T, h *Hub, o HTTPOptions) (w *web, m *fronttest.Memory, stop func()) {
	t.Helper()
	o.Open = len(o.Tokens) == 0 && o.Resource == nil && o.LocalToken == ""
	m = fronttest.NewMemory()
	o.Hosts = append(o.Hosts, "hub.test")
	c, stop := fronttest.Run(t, &http.Transport{DialContext: m.Dial}, func(ctx context.Context) error { return h.ServeStreamableHTTP(ctx, m, o) })
	return &web{t, "http://hub.test/mcp", c}, m, stop
}

// split reads one frame of a strict peer.
func split(t testing.TB, frame string) *jsonrpc.Message {
	t.Helper()
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split([]byte(frame), true, m); err != nil {
		t.Fatalf("%v: %s", err, frame)
	}
	return m
}
