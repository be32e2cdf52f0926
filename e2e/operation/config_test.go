package operation

import (
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// Editors start the hub in the project, and a cloned repository must not start programs: a hub.json that lies there is left
// alone until it is named.
func TestHubJSONInTheWorkingDirectoryIsNotRead(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{".", "sub"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			for _, name := range []string{"hub.json", "mcphub.json", ".mcphub/hub.json", ".mcp.json"} {
				w.Write(filepath.Join("project", folder, name), world.Raw(t, obj{"mcpServers": obj{"evil": w.Recorder("evil")}}))
			}
			s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve"}, Dir: w.Path("project", folder), Roots: ide.Folders(w.Project)})
			s.Handshake()
			all := s.AwaitTool("get-roots")
			if s.MustRequest("tools/call", ide.ToolParams("evil__echo", `{}`)).Result != nil || all["evil__echo"] != nil {
				t.Errorf("its child is offered: %v", world.Names(all))
			}
			if st := w.Starts("evil"); len(st) > 0 {
				t.Errorf("its child was started: %+v", st)
			}
			// What is offered instead is the embedded child (hub-json: without any configuration).
			if len(all) < 5 {
				t.Errorf("without a configuration only %v is offered", world.Names(all))
			}
			s.End(world.StopBound)
			if !strings.Contains(s.Stderr(), "hub.json") {
				t.Error("the log does not mention that a hub.json lies there unused")
			}
		})
	}
	t.Run("named, it is read", func(t *testing.T) {
		t.Parallel()
		w := world.New(t)
		w.Write("project/hub.json", world.Raw(t, obj{"mcpServers": obj{"evil": w.Recorder("evil")}}))
		s := w.Start(ide.Options{Command: world.Hub(t), Args: []string{"serve", "--config", "hub.json"}, Dir: w.Project, Roots: ide.Folders(w.Project)})
		s.Handshake()
		s.MustCall("evil__echo", `{}`)
	})
}
