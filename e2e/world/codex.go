package world

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
)

// codexModel plays the model behind Codex: it makes its calls of one tool of the hub, one after the other, and is done.
type codexModel struct {
	tool      string
	arguments []string // of each call

	mu      sync.Mutex
	results []string
	asked   []string
}

// ServeHTTP is as much of the Responses API as the client uses.
func (m *codexModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Tools json.RawMessage
		Input []struct {
			Type   string
			Output json.RawMessage
		}
	}
	if json.NewDecoder(r.Body).Decode(&req) != nil {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, string(req.Tools))
	m.results = nil
	for _, in := range req.Input {
		if in.Type == "function_call_output" {
			m.results = append(m.results, string(in.Output))
		}
	}
	item := obj{"type": "message", "id": "msg_1", "role": "assistant", "content": []obj{{"type": "output_text", "text": "done"}}}
	if n := len(m.results); n < len(m.arguments) {
		id := fmt.Sprint(n)
		item = obj{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "namespace": "mcp__mcphub", "name": m.tool, "arguments": m.arguments[n]}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, more obj) {
		more["type"] = kind
		b, _ := json.Marshal(more) // nothing but text in it
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	}
	event("response.created", obj{"response": obj{"id": "resp_1"}})
	event("response.output_item.done", obj{"output_index": 0, "item": item})
	event("response.completed", obj{"response": obj{"id": "resp_1", "usage": obj{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})
}

// Codex has Codex make calls of a tool of the hub that its configuration names mcphub, with a stand-in for its model, and gives
// what the model was told.
func (w *World) Codex(n Node, env []string, tool string, arguments ...obj) string {
	w.T.Helper()
	model := &codexModel{tool: tool}
	for _, a := range arguments {
		model.arguments = append(model.arguments, Raw(w.T, a))
	}
	api := httptest.NewServer(model)
	defer api.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.Program, n.Script("codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
		"-c", "model_provider=standin", "-c", `model_providers.standin={name="standin",base_url="`+api.URL+`/v1",wire_api="responses",env_key="STAND_IN_KEY",request_max_retries=0,stream_max_retries=0}`, "go")
	cmd.Dir, cmd.Env = w.Project, append(env, "STAND_IN_KEY=none")
	said, err := cmd.CombinedOutput()
	model.mu.Lock()
	defer model.mu.Unlock()
	if len(model.results) < len(arguments) {
		return fmt.Sprintf("%v\n%s\nthe model was asked %d times, first with %.3000s", err, said, len(model.asked), strings.Join(model.asked, "\n"))
	}
	return strings.Join(model.results, "\n")
}
