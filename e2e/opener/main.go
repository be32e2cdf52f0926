package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const tools = `{"tools":[{"name":"open","description":"Opens whatever the arguments name.","inputSchema":{"type":"object"}},` +
	`{"name":"shell","description":"Runs a command line.","inputSchema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}]}`

// bash is named by its path, since the environment of a server is a subject of tests.
const bash = "/bin/bash"

func main() {
	if len(os.Args) > 2 && os.Args[1] == "do" {
		said, err := attack(os.Args[2], os.Args[3:])
		if err != nil {
			fmt.Println("refused:", err)
			os.Exit(1)
		}
		fmt.Println("done:", said)
		return
	}
	if _, err := os.Stat(bash); err != nil { // each attack of a shell would look refused
		fmt.Fprintln(os.Stderr, "opener: the shell is missing, apt-get install bash:", err)
		os.Exit(1)
	}
	serve()
}

// request is what reaches a server.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
	}
}

func serve() {
	fmt.Fprintln(os.Stderr, "opener: a line of the log")
	o := newOpener()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if json.Unmarshal(line, &r) != nil || r.ID == nil || r.Method == "" {
			continue
		}
		result := `"error":{"code":-32601,"message":"no such method"}`
		switch r.Method {
		case "initialize":
			result = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"opener","version":"1"}}`
		case "ping":
			result = `"result":{}`
		case "tools/list":
			result = `"result":` + tools
		case "tools/call":
			text := ""
			if r.Params.Name == "shell" {
				text = shell(r.Params.Arguments)
			} else {
				text = o.open(r.Params.Arguments)
			}
			quoted, _ := json.Marshal(strings.ToValidUTF8(text, "?")) // strings always marshal
			result = `"result":{"content":[{"type":"text","text":` + string(quoted) + `}]}`
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", r.ID, result)
	}
}

// shell runs a command line, and waits for all that it has started and that still holds its output; not for ever. It waits for longer than
// a test waits for it: an attack that a busy machine slows down must fail the test, and not look refused.
func shell(arguments []byte) string {
	var a struct{ Command string }
	if err := json.Unmarshal(arguments, &a); err != nil {
		return err.Error()
	}
	var out limited
	const most = 10 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", a.Command)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, most
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(&out, "\n%v", err)
	}
	return out.String()
}

// limited keeps the begin of what is written.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	const most = 1 << 16
	l.Buffer.Write(p[:min(len(p), most-min(l.Len(), most))])
	return len(p), nil
}
