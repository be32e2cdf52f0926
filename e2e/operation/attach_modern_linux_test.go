package operation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// TestRootsOfAnAttachedModernClient: a client of 2026-07-28 cannot tell that its roots have changed. A server that asks for them in a call gets
// the ones that the client has by then.
func TestRootsOfAnAttachedModernClient(t *testing.T) {
	t.Parallel()
	a := sharing(t, obj{})
	a.config = a.Config(obj{"rec": a.Recorder("rec")}, obj{"attach": obj{"mode": "auto", "idle": "400ms"}})
	c := a.client(a.Project)
	other := filepath.Join(a.Dir, "second")
	world.Must(t, os.Mkdir(other, 0o700))
	ask := func(tool string, roots ...string) string {
		t.Helper()
		params := obj{"name": tool, "arguments": obj{}, "_meta": obj{"io.modelcontextprotocol/protocolVersion": world.ModernVersion,
			"io.modelcontextprotocol/clientInfo": obj{"name": "e2e", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": obj{"roots": obj{}}}}
		for range 3 {
			m, err := c.Call(a.wait(), "tools/call", world.Raw(t, params))
			world.Must(t, err)
			var asked struct {
				InputRequests map[string]struct{ Method string }
				RequestState  json.RawMessage
			}
			world.Must(t, json.Unmarshal(m.Result, &asked))
			if asked.InputRequests == nil {
				return string(m.Result)
			}
			var list []obj
			for _, r := range roots {
				list = append(list, obj{"uri": ide.FileURI(r)})
			}
			answers := obj{}
			for key := range asked.InputRequests {
				answers[key] = obj{"roots": list}
			}
			params["inputResponses"], params["requestState"] = answers, asked.RequestState
		}
		t.Fatal("asked again and again")
		return ""
	}
	for _, roots := range [][]string{{a.Project}, {other}, {other, a.Project}, {a.Project}} {
		got := ask("rec__ask_roots", roots...)
		for _, dir := range []string{a.Project, other} {
			if strings.Contains(got, `"`+ide.FileURI(dir)+`"`) != slices.Contains(roots, dir) {
				t.Errorf("the roots are %q, and the server was given %s", roots, got)
			}
		}
	}
}
