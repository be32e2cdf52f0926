package childtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func describeTool(name string) any {
	return map[string]any{"name": name, "description": "does " + name, "inputSchema": map[string]any{"type": "object"}, "x-kept": json.RawMessage("12345678901234567890")}
}

func textResult(s string) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": s}}}
}

func (p *player) callTool(m message, cancelled chan struct{}) {
	defer func() {
		p.mu.Lock()
		delete(p.cancel, string(m.ID))
		p.mu.Unlock()
	}()
	var params struct {
		Name      string
		Arguments json.RawMessage
		Meta      struct {
			ProgressToken                    json.RawMessage
			Traceparent, Tracestate, Baggage string
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &params)
	var args struct {
		Code  int
		Steps int
		Every time.Duration
		Name  string
	}
	_ = json.Unmarshal(params.Arguments, &args)
	switch params.Name {
	case "echo":
		said := map[string]any{"content": []any{}, "structuredContent": params.Arguments}
		if t := params.Meta; t.Traceparent+t.Tracestate+t.Baggage != "" {
			said["_meta"] = map[string]string{"carried": t.Traceparent + " " + t.Tracestate + " " + t.Baggage}
		}
		p.sendResult(m.ID, said)
	case "allowed":
		p.mu.Lock()
		dirs := strings.Join(p.dirs, "\n")
		p.mu.Unlock()
		p.sendResult(m.ID, textResult("Allowed directories:\n"+dirs))
	case "roots":
		p.sendResult(m.ID, textResult(string(p.requestClient("roots/list"))))
	case "sleep":
		p.mu.Lock()
		p.notes = append(p.notes, "sleeping")
		p.mu.Unlock()
		<-cancelled
	case "shell": // runs what it is given, as servers with a shell do
		cmd := exec.Command("/bin/sh", "-c", args.Name)
		cmd.ExtraFiles = []*os.File{os.Stderr} // 3: the server's own
		out, err := cmd.CombinedOutput()
		result := textResult(fmt.Sprintf("%s%v", out, err))
		switch {
		case err != nil && args.Code == 1: // as the result of a tool that failed
			result["isError"] = true
			p.sendResult(m.ID, result)
		case err != nil && args.Code == 2: // as an error of the protocol
			p.sendError(m.ID, -32000, string(out))
		default:
			p.sendResult(m.ID, result)
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "exiting in the middle of a call")
		os.Exit(args.Code)
	case "progress":
		for i := range args.Steps {
			time.Sleep(args.Every)
			p.sendLine(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, params.Meta.ProgressToken, i)
		}
		p.sendResult(m.ID, textResult("done"))
	case "change":
		p.mu.Lock()
		p.extra = append(p.extra, args.Name)
		p.mu.Unlock()
		if p.s.Era == "" || !p.notifySubscribers("toolsListChanged", "", "notifications/tools/list_changed", `{`) {
			p.ownPlayer().sendLine(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		p.sendResult(m.ID, textResult("changed"))
	case "broken":
		p.sendLine(`{"jsonrpc":"2.0","id":%s,"result":{"content":[}`, m.ID)
	case "env":
		wd, _ := os.Getwd()
		p.sendResult(m.ID, map[string]any{"content": []any{}, "structuredContent": map[string]any{"env": os.Environ(), "cwd": wd, "args": os.Args[1:], "pid": os.Getpid()}})
	case "noticed":
		p.mu.Lock()
		notes := strings.Join(p.notes, "\n")
		p.mu.Unlock()
		p.sendResult(m.ID, textResult(notes))
	default:
		if p.s.Asks && p.askClient(m, params.Name, params.Arguments) || p.s.Era != "" && p.modernTool(m, params.Name, params.Arguments, cancelled) {
			return
		}
		if p.s.Defs != "" {
			p.answerRaw(m.ID, `{"content":[],"structuredContent":`+string(params.Arguments)+`}`)
			return
		}
		p.sendError(m.ID, -32602, "no such tool")
	}
}

// callsHang reports whether a message calls the tool "hang", which is not listed.
func (m message) callsHang() bool { return strings.Contains(string(m.Params), `"name":"hang"`) }

// freezeReading obeys a call that keeps the child from reading on: "busy" in its arguments
// is for how long, before it is answered, and the tool "hang" is for ever. With
// "deaf" it does not even read any more.
func (p *player) freezeReading(m message) (forEver bool) {
	if _, text, ok := strings.Cut(string(m.Params), `"busy":"`); ok {
		text, _, _ = strings.Cut(text, `"`)
		d, _ := time.ParseDuration(text)
		time.Sleep(d)
	}
	if !m.callsHang() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuck, p.deaf = true, strings.Contains(string(m.Params), `"deaf":true`)
	return true
}
