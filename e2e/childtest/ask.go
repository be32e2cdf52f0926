package childtest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// askTools are the tools of a child with Script.Asks: "ask" sends its client
// the request {method, params} (with "id", or cancels it at once with
// "cancel"), "say" sends a notification some times, "noticed" reports what it
// was told, "task" is answered with a task.
var askTools = []string{"ask", "say", "task"}

// askClient plays one of them.
func (p *player) askClient(m message, name string, arguments json.RawMessage) bool {
	var args struct {
		ID, Params   json.RawMessage
		Method       string
		Cancel, Task string
		Times        int
		Later        bool // answers the call before the question is answered
	}
	_ = json.Unmarshal(arguments, &args)
	if args.Params == nil {
		args.Params = json.RawMessage(`{}`)
	}
	switch name {
	case "ask":
		p.mu.Lock()
		p.next++
		if args.ID == nil {
			args.ID = fmt.Appendf(nil, `"q%d"`, p.next)
		}
		c := make(chan json.RawMessage, 1)
		over := p.over
		if !over {
			p.asked[string(args.ID)] = c
		}
		p.mu.Unlock()
		if over {
			return true
		}
		p.sendLine(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, args.ID, args.Method, args.Params)
		if args.Cancel != "" {
			p.sendLine(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":%q}}`, args.ID, args.Cancel)
			p.sendResult(m.ID, textResult("cancelled"))
			return true
		}
		if args.Later {
			p.sendResult(m.ID, textResult("later"))
		}
		answer, ok := <-c
		if !ok {
			return true
		}
		p.mu.Lock()
		p.notes = append(p.notes, "answer "+string(answer))
		p.mu.Unlock()
		if args.Later {
			return true
		}
		p.answerRaw(m.ID, fmt.Sprintf(`{"content":[],"structuredContent":{"answer":%s}}`, answer))
	case "say":
		for i := range args.Times {
			p.sendLine(`{"jsonrpc":"2.0","method":%q,"params":%s}`, args.Method, strings.ReplaceAll(string(args.Params), `"#"`, fmt.Sprint(i)))
		}
		p.answerRaw(m.ID, `{"content":[]}`)
	case "task":
		p.mu.Lock()
		p.extra = append(p.extra, "task:"+args.Task)
		p.mu.Unlock()
		p.answerRaw(m.ID, fmt.Sprintf(`{"task":{"taskId":%q,"status":"working","ttl":60000,"x-odd":1.0},"_meta":{"n":12345678901234567890}}`, args.Task))
	default:
		return false
	}
	return true
}

// handleAsks serves what else such a child is sent.
func (p *player) handleAsks(m message) bool {
	p.mu.Lock()
	p.notes = append(p.notes, m.Method+" "+string(m.Params))
	var mine []string
	for _, name := range p.extra {
		if id, ok := strings.CutPrefix(name, "task:"); ok {
			mine = append(mine, id)
		}
	}
	p.mu.Unlock()
	var params struct{ TaskID string }
	_ = json.Unmarshal(m.Params, &params)
	switch m.Method {
	case "logging/setLevel":
		p.answerRaw(m.ID, `{}`)
	case "tasks/get", "tasks/cancel":
		p.answerRaw(m.ID, fmt.Sprintf(`{"taskId":%q,"status":"working","ttl":1e3}`, params.TaskID))
	case "tasks/update": // of the extension
		p.answerRaw(m.ID, `{"resultType":"complete"}`)
	case "tasks/result":
		p.answerRaw(m.ID, fmt.Sprintf(`{"content":[],"structuredContent":{"of":%q}}`, params.TaskID))
	case "tasks/list":
		var list []string
		for _, id := range mine {
			list = append(list, fmt.Sprintf(`{"taskId":%q,"status":"working"}`, id))
		}
		p.answerRaw(m.ID, `{"tasks":[`+strings.Join(list, ",")+`]}`)
	default:
		return m.ID == nil
	}
	return true
}
