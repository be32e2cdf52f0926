package protocol

import (
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// A handshake with every version that has one, and with one that no one knows.
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
