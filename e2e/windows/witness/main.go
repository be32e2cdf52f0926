package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// tools gives the properties of each tool, by name, as JSON Schema.
var tools = map[string]string{
	"read":      `"path":{"type":"string"}`,
	"read_many": `"paths":{"type":"array","items":{"type":"string"}}`,
	"write":     `"path":{"type":"string"},"content":{"type":"string"}`,
	"open":      `"file":{"type":"string"}`,
	"move":      `"source":{"type":"string"},"destination":{"type":"string"}`,
	"load":      `"uri":{"type":"string"}`,
	"get":       `"url":{"type":"string"}`,
	"sql":       `"query":{"type":"string"}`,
	"run":       `"command":{"type":"string"},"cwd":{"type":"string"}`,
	"exec":      `"cmd":{"type":"string"},"args":{"type":"array","items":{"type":"string"}},"cwd":{"type":"string"}`,
	"git":       `"repo":{"type":"string"},"args":{"type":"array","items":{"type":"string"}}`,
	"script":    `"script":{"type":"string"}`,
	"search":    `"pattern":{"type":"string"},"path":{"type":"string"}`,
	"convert":   `"input":{"type":"string"},"output":{"type":"string"}`,
	"note":      `"text":{"type":"string"}`,
	"say":       `"content":{"type":"string"}`,
	"set":       `"key":{"type":"string"},"value":{"type":"string"}`,
}

func main() {
	habit := ""
	if len(os.Args) > 1 {
		habit = os.Args[1]
	}
	if habit == "look" {
		look(os.Args[2:])
		return
	}
	if err := run(habit); err != nil {
		fmt.Fprintln(os.Stderr, "witness:", err)
		os.Exit(1)
	}
}

// look prints what kind of file each path is.
func look(paths []string) {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			fmt.Println(path, err)
			continue
		}
		fmt.Println(path, info.Mode().Type())
	}
}

func run(habit string) error {
	if habit == "hold" {
		hold()
	}
	if habit == "spawn" {
		if err := exec.Command(os.Args[0], "hold").Start(); err != nil {
			return err
		}
	}
	record, err := os.OpenFile(os.Getenv("WITNESS_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer record.Close()
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := answer(record, line, habit); err != nil {
			return err
		}
	}
	if habit == "hang" {
		hold()
	}
	return nil
}

// hold waits to be killed.
func hold() {
	for {
		time.Sleep(time.Hour)
	}
}

// answer writes the answer to one message, and records it if it is a call.
func answer(record io.Writer, line []byte, habit string) error {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name            string          `json:"name"`
			Arguments       json.RawMessage `json:"arguments"`
			ProtocolVersion string          `json:"protocolVersion"`
		} `json:"params"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	if m.ID == nil {
		return nil
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"witness","version":"1"}}`, m.Params.ProtocolVersion)
	case "tools/list":
		result = list()
	case "tools/call":
		call, err := json.Marshal(map[string]any{"name": m.Params.Name, "arguments": m.Params.Arguments})
		if err != nil {
			return err
		}
		if _, err := record.Write(append(call, '\n')); err != nil {
			return err
		}
		if habit == "hang" {
			return nil
		}
		result = `{"content":[{"type":"text","text":"the witness has it"}]}`
	case "ping":
	default:
		_, err := fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", m.ID)
		return err
	}
	_, err := fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	return err
}

func list() string {
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		entries = append(entries, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{%s}}}`, name, tools[name]))
	}
	return `{"tools":[` + strings.Join(entries, ",") + `]}`
}
