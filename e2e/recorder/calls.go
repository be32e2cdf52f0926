package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// arguments are the arguments that the tools below understand; every tool also takes what it does not know.
type arguments struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	MS    int    `json:"ms"`
	Steps int    `json:"steps"`
	Bytes int    `json:"bytes"`

	Hex    string   `json:"hex"`
	Before []string `json:"before"`
}

// call runs one tools/call. done closes when the client cancels it; then nothing is answered, as the protocol wants it.
func (s *server) call(id, params json.RawMessage, done <-chan struct{}) {
	var p message
	if err := json.Unmarshal(params, &p); err != nil {
		s.fail(id, -32602, err.Error())
		return
	}
	raw := p["arguments"]
	if raw == nil {
		raw = json.RawMessage(`{}`)
	}
	var args arguments
	_ = json.Unmarshal(raw, &args) // a tool that cares for one of them finds it zero
	if s.habits.tasks && p["task"] != nil {
		s.result(id, fmt.Appendf(nil, `{"task":%s}`, task(args.Name)))
		return
	}
	switch name := p.str("name"); name {
	case "echo", "echo_nullable", "rich", "rich_draft07", "task":
		s.result(id, structured(bytes.TrimSpace(raw)))
	case "whoami":
		b, _ := json.Marshal(thisStart()) // strings and numbers only: it cannot fail
		s.result(id, structured(b))
	case "odd":
		s.odd(id, args.Kind)
	case "ask_roots":
		if answer := s.ask("roots/list", done); answer != nil {
			s.result(id, structured(answer))
		}
	case "sleep":
		select {
		case <-time.After(time.Duration(args.MS) * time.Millisecond):
			s.result(id, text("slept"))
		case <-done:
		}
	case "progress":
		s.progress(id, p, args.Steps)
	case "big":
		s.result(id, text(strings.Repeat("x", args.Bytes)))
	case "crash":
		fmt.Fprintln(os.Stderr, "recorder: \x1b[31mcrash\x1b[0m as told")
		os.Exit(3)
	case "reflect":
		s.result(id, structured(bytes.TrimSpace(params)))
	case "say":
		s.say(id, p, args)
	case "ask":
		if answer := s.askAs(unhex(args.Hex), done); answer != nil {
			s.result(id, structured(answer))
		}
	case "set_tools":
		s.mu.Lock()
		s.set = unhex(args.Hex)
		s.mu.Unlock()
		s.notify("notifications/tools/list_changed", `{}`)
		s.result(id, text("set"))
	case "hostile":
		said := string(unhex(s.habits.hostile))
		fmt.Fprintln(os.Stderr, said)
		s.fail(id, -32603, said)
	case "flood":
		flood(os.Stderr, args.Bytes)
		s.result(id, text("flooded"))
	case "add_tool":
		s.mu.Lock()
		s.added = append(s.added, args.Name)
		s.mu.Unlock()
		s.notify("notifications/tools/list_changed", `{}`)
		s.result(id, text("added"))
	default:
		if s.known(name) {
			s.result(id, structured(bytes.TrimSpace(raw)))
			return
		}
		s.fail(id, -32602, "unknown tool: "+name)
	}
}

// say answers with members of an envelope that the test has made up, after progress notifications with members that it has made
// up. They come as hexadecimal digits: what they hold is no one's business on the way here.
func (s *server) say(id json.RawMessage, params message, args arguments) {
	var meta message
	_ = json.Unmarshal(params["_meta"], &meta)
	for _, members := range args.Before {
		s.notify("notifications/progress", `{"progressToken":`+string(meta["progressToken"])+","+unhex(members)+`}`)
	}
	s.send([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,`+unhex(args.Hex)+`}`))
}

func unhex(digits string) string {
	b, err := hex.DecodeString(digits)
	if err != nil {
		return "" // which is what a test is told that sends something else
	}
	return string(b)
}

func (s *server) known(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.added {
		if a == name {
			return true
		}
	}
	return false
}

func (s *server) progress(id json.RawMessage, params message, steps int) {
	var meta message
	_ = json.Unmarshal(params["_meta"], &meta)
	token := meta["progressToken"]
	for i := range steps {
		if token != nil {
			s.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d,"message":"step"}`, token, i+1, steps))
		}
	}
	s.result(id, text("done"))
}

// odd answers in every way that a typed library would straighten out. The right thing for a relay is to straighten nothing.
func (s *server) odd(id json.RawMessage, kind string) {
	switch kind {
	case "utf8":
		s.result(id, []byte("{\"content\":[{\"type\":\"text\",\"text\":\"bad \xff\xfe bytes\"}]}"))
	case "order":
		s.send([]byte(` { "result" : `+oddResult+` , "x-envelope" : [ { "id" : 0 } ] , "id" : `), id, []byte(` , "jsonrpc" : "2.0" } `))
	case "escaped":
		s.send([]byte(`{"jsonrpc":"2.0","\u0069d":`), id, []byte(`,"resul\u0074":`+oddResult+`}`))
	case "error":
		s.send([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"error":`+oddError+`}`))
	case "":
		s.result(id, []byte(oddResult))
	default:
		s.fail(id, -32602, "unknown kind: "+kind)
	}
}

func text(s string) []byte {
	b, _ := json.Marshal(s) // a string always marshals
	return []byte(`{"content":[{"type":"text","text":` + string(b) + `}]}`)
}

// structured answers with value as it stands, once as text and once as structured content.
func structured(value []byte) []byte {
	t := text(string(value))
	return append(t[:len(t)-1], []byte(`,"structuredContent":`+string(value)+`}`)...)
}
