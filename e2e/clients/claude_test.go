package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// standIn plays the model behind Claude Code: it calls the tools of a script one after the other and then says that it is done.
type standIn struct {
	script []toolUse

	mu      sync.Mutex
	offered map[string]bool // tools that the client has shown it
	results []string        // what the calls came to, as JSON
}

type toolUse struct {
	name  string
	input obj
}

// ServeHTTP is as much of the Messages API as the client uses.
func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/v1/messages") {
		http.Error(w, `{"type":"error","error":{"type":"not_found_error","message":"no such thing here"}}`, http.StatusNotFound)
		return
	}
	var req struct {
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	block := s.next(req.Tools, req.Messages)
	stop := "end_turn"
	if block["type"] == "tool_use" {
		stop = "tool_use"
	}
	message := obj{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-stand-in", "content": []obj{block}, "stop_reason": stop,
		"stop_sequence": nil, "usage": obj{"input_tokens": 1, "output_tokens": 1}}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, more obj) {
		more["type"] = kind
		b, _ := json.Marshal(more) // nothing but text in it
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	}
	message["content"], message["stop_reason"] = []obj{}, nil
	event("message_start", obj{"message": message})
	if input, ok := block["input"]; ok {
		b, _ := json.Marshal(input)
		block["input"] = obj{}
		event("content_block_start", obj{"index": 0, "content_block": block})
		event("content_block_delta", obj{"index": 0, "delta": obj{"type": "input_json_delta", "partial_json": string(b)}})
	} else {
		text := block["text"]
		block["text"] = ""
		event("content_block_start", obj{"index": 0, "content_block": block})
		event("content_block_delta", obj{"index": 0, "delta": obj{"type": "text_delta", "text": text}})
	}
	event("content_block_stop", obj{"index": 0})
	event("message_delta", obj{"delta": obj{"stop_reason": stop, "stop_sequence": nil}, "usage": obj{"output_tokens": 1}})
	event("message_stop", obj{})
}

// next gives what the model says: the first step of the script whose result is not among the messages.
func (s *standIn) next(tools []struct{ Name string }, messages []struct{ Content json.RawMessage }) obj {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tool := range tools {
		s.offered[tool.Name] = true
	}
	var results []string
	for _, m := range messages {
		var blocks []struct {
			Type    string
			Content json.RawMessage
		}
		_ = json.Unmarshal(m.Content, &blocks) // a text alone is no result
		for _, b := range blocks {
			if b.Type == "tool_result" {
				results = append(results, string(b.Content))
			}
		}
	}
	if len(results) > len(s.results) {
		s.results = results
	}
	if n := len(results); n < len(s.script) && len(tools) > 0 {
		return obj{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n+1), "name": s.script[n].name, "input": s.script[n].input}
	}
	return obj{"type": "text", "text": "done"}
}

// claude gives the program that the npm package brings for this system.
func claude(n world.Node, t testing.TB) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	program := filepath.Join(n.Modules, "@anthropic-ai", "claude-code-"+runtime.GOOS+"-"+arch, "claude")
	if _, err := os.Stat(program); err != nil {
		needs.Missing(t, "no Claude Code for this system: ", err)
	}
	return program
}

// TestClaudeCode: the real client with a stand-in for its model lists, calls, has its folder as the boundary and is denied what
// lies outside, in both eras.
func TestClaudeCode(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	for mode, version := range map[string]string{"legacy": "2025-11-25", "auto": world.ModernVersion} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			config := w.Config(obj{"files": obj{"builtin": "files"}, "rec": w.Recorder("rec")})
			inside := w.Path("project", "hello.txt")
			model := &standIn{offered: map[string]bool{}, script: []toolUse{
				{"mcp__hub__get-roots", obj{}},
				{"mcp__hub__files__read_text_file", obj{"path": inside}},
				{"mcp__hub__files__read_text_file", obj{"path": "/etc/passwd"}},
				{"mcp__hub__rec__echo", obj{"path": "/etc/passwd"}},
			}}
			runClaude(w, n, model, mode, w.Tapped("hub", world.Hub(t), "serve", "--config", config))
			for _, name := range []string{"mcp__hub__get-roots", "mcp__hub__list-tools", "mcp__hub__files__write_file", "mcp__hub__rec__echo"} {
				if !model.offered[name] {
					t.Errorf("%s is not listed", name)
				}
			}
			for i, want := range []string{ide.FileURI(w.Project), "hello from the project", "Access denied: Path '/etc/passwd'", "Access denied: Path '/etc/passwd'"} {
				if i >= len(model.results) || !strings.Contains(model.results[i], want) {
					t.Errorf("call %d: want %q in %q", i, want, model.results[min(i, len(model.results)):])
				}
			}
			if strings.Contains(w.Recorded("rec"), "passwd") {
				t.Error("the call outside reached the child")
			}
			k := world.ReadTap(t, w.Path("records", "hub.tap"))
			other := map[string]string{"legacy": world.ModernVersion, "auto": "2025-11-25"}[mode]
			if got := k.Judged(); got[version+" result of tools/call"] < len(model.script) || got[other+" tools/call"] > 0 {
				t.Errorf("not all calls were of %s: %v", version, got)
			}
		})
	}
}

// runClaude runs Claude Code in the project, with one server called hub and every tool of it allowed.
func runClaude(w *world.World, n world.Node, model *standIn, negotiation string, server obj) {
	w.T.Helper()
	api := httptest.NewServer(model)
	defer api.Close()
	servers := w.Write("servers.json", world.Raw(w.T, obj{"mcpServers": obj{"hub": server}}))
	ctx, cancel := context.WithTimeout(context.Background(), 3*world.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, claude(n, w.T), "-p", "go", "--mcp-config", servers, "--strict-mcp-config", "--allowedTools", "mcp__hub", "--model", "claude-stand-in",
		"--output-format", "json")
	cmd.Dir = w.Project
	cmd.Env = w.Env("ANTHROPIC_BASE_URL="+api.URL, "ANTHROPIC_API_KEY=none", "MCP_PROTOCOL_NEGOTIATION="+negotiation, "ENABLE_TOOL_SEARCH=false",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.T.Errorf("Claude Code: %v", err)
	}
	w.T.Cleanup(func() {
		if w.T.Failed() {
			w.T.Logf("Claude Code said:\n%s\n%s", out.Bytes(), errs.Bytes())
		}
	})
}
