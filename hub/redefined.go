package hub

import (
	"strings"
	"time"

	"mcphub/children"
	"mcphub/internal/audit"
	"mcphub/internal/printable"
)

// toldRedefined logs, records and keeps what a child has redefined. It is called by the
// goroutines of the children and waits for nothing.
func (h *Hub) toldRedefined(k children.Key, tools []children.Redefinition) {
	g := h.now()
	for _, t := range tools {
		if !g.Offers.Wants(k.Child, t.Tool) {
			continue
		}
		name := printable.Escape(t.Tool, 200)
		g.Log.Warn().Str("child", k.Child).Str("tool", name).Strs("parts", t.Parts).
			Msg("the server defines this tool otherwise than when it was offered before; look at it before you go on trusting it")
		h.redefined.Add(k.Child, name, t.Parts, time.Now())
		if to := g.Audit.To; to != nil {
			to.Definition(&audit.Record{Child: k.Child, Tool: name, Code: strings.Join(t.Parts, ", ")})
		}
	}
}
