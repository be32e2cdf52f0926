package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcphub/e2e/world"
)

// asked is what clients/asks.mjs reports.
type asked struct {
	Tools   []string
	Results map[string]any
	Asked   []any
	Logs    int
}

func asks(w *world.World, n world.Node, prefix, command string, args ...string) asked {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*world.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.Program, world.Source("e2e", "clients", "asks.mjs"))
	cmd.Env = w.Env()
	cmd.Stdin = strings.NewReader(world.Raw(w.T, obj{"command": command, "args": args, "env": envObject(w), "cwd": w.Home, "prefix": prefix}))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.T.Fatalf("the SDK client: %v\n%s", err, errs.Bytes())
	}
	var r asked
	world.Must(w.T, json.Unmarshal(out.Bytes(), &r))
	return r
}

// TestSDKClientIsAskedThroughTheHub: whatever server-everything offers, asks and
// says to a client that can be asked, it does through the hub as it does without:
// sampling, elicitation by form and URL, the error that asks for one, a task with
// a question in its middle, log messages.
func TestSDKClientIsAskedThroughTheHub(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	server := n.Script("mcp-server-everything")
	direct := asks(w, n, "", n.Program, server)
	config := w.Config(obj{"everything": obj{"command": n.Program, "args": []string{server}}})
	through := asks(w, n, "everything__", world.Hub(t), "serve", "--config", config)
	if len(direct.Asked) != 4 || direct.Logs == 0 || direct.Results["error"] == nil {
		t.Fatalf("the control: %+v", direct)
	}
	// A server that is shown roots, which the hub declares for itself, offers one more tool.
	through.Tools = allBut(through.Tools, "get-roots-list")
	direct.Tools = allBut(direct.Tools, "get-roots-list")
	direct.Logs, through.Logs = min(direct.Logs, 1), min(through.Logs, 1)
	if diff := cmp.Diff(direct, through); diff != "" {
		t.Errorf("through the hub (+) it is not as without (-):\n%s", diff)
	}
}

func allBut(all []string, name string) []string {
	var rest []string
	for _, s := range all {
		if s != name {
			rest = append(rest, s)
		}
	}
	return rest
}
