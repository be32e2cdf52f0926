package world

import (
	"mcphub/e2e/spectest"
)

var (
	EraNames       = map[bool]string{false: "legacy", true: "modern"}
	TransportNames = map[bool]string{false: "stdio", true: "HTTP"}
)

// Witnessed is a hub with the fixture, called kid, as its child, and witnesses on all sides.
type Witnessed struct {
	W      *World
	Config string
	Kid    *web  // nil if the child is on stdio
	Front  *Talk // with the client
}

// Witnessed makes one of this world.
func (w *World) Witnessed(modernChild, childWeb bool) *Witnessed {
	w.T.Helper()
	h := &Witnessed{W: w}
	var entry obj
	if childWeb {
		url := w.Listen("kid", Bin.Fixture, "-http", "127.0.0.1:0", "-era", EraNames[modernChild])
		h.Kid = w.TapWeb(url, map[spectest.Party]string{spectest.Client: "the hub towards its child", spectest.Server: "the child"})
		entry = obj{"url": h.Kid.URL}
	} else {
		entry = w.Tapped("kid", Bin.Fixture, "-era", EraNames[modernChild])
	}
	h.Config = w.Config(obj{"kid": entry})
	return h
}

// Serve returns the command line of the hub.
func (h *Witnessed) Serve(more ...string) []string {
	return append([]string{"serve", "--config", h.Config}, more...)
}

// OnWeb starts the hub over HTTP, with a witness before it.
func (h *Witnessed) OnWeb() *web {
	h.W.T.Helper()
	url := h.W.Listen("hub", Hub(h.W.T), h.Serve("--http", "127.0.0.1:0")...)
	return h.W.TapWeb(url, map[spectest.Party]string{spectest.Server: "the hub"})
}
