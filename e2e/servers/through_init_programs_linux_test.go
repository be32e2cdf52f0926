package servers

import (
	_ "embed"
	"fmt"
)

// This file has the small servers of through_init_entries_linux_test.go: each does on disk what a known one does.

// wire is what they share.
//
//go:embed testdata/everyday/wire.py
var wire string

// python returns a program in one file: body uses serve.
func python(body string) string { return "#!/usr/bin/python3\n" + wire + "\n" + body }

// keeper returns a program that keeps lines in the file that an expression of Python gives, and writes it in one of these ways.
func keeper(place, way string) string {
	return python(fmt.Sprintf(`import os, sys, tempfile
place = os.path.expanduser(%s)

def get():
    return open(place).read() if os.path.exists(place) else "nothing yet"

def put(text):
    os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
%s
    return "kept"

serve("keeper", {"get": ([], get), "put": (["text"], put)})
`, place, way))
}

// The ways in which programs write a file.
const (
	appending = `    open(place, "a").write(text)`
	replacing = `    old = get()
    open(place + ".tmp", "w").write(old + text)
    os.replace(place + ".tmp", place)`
	hidden = `    old = get()
    at, name = tempfile.mkstemp(dir=os.path.dirname(place))
    os.write(at, (old + text).encode())
    os.close(at)
    os.replace(name, place)`
	locking = `    os.close(os.open(place + ".lock", os.O_CREAT | os.O_EXCL))
    try:
        open(place, "a").write(text)
    finally:
        os.unlink(place + ".lock")`
	backing = `    if os.path.exists(place):
        os.rename(place, place + "~")
        old = open(place + "~").read()
    else:
        old = ""
    open(place, "w").write(old + text)`
)

// runner returns a program that runs a command line of a person's day in a folder, which "run" and "make" give.
func runner(run, make string) string {
	return python(fmt.Sprintf(`import os, subprocess

def sh(line):
    done = subprocess.run(line, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout)
    return done.stdout

serve("runner", {"run": ([], lambda: sh(%q)), "make": ([], lambda: sh(%q))})
`, run, make))
}

// books returns a program that keeps tables in the database that an expression gives.
func books(place, open string) string {
	return python(fmt.Sprintf(`import os, sqlite3, sys
place = os.path.expanduser(%s)

def run(query):
    db = sqlite3.connect(place)
    try:
        %s
        with db:
            return [list(row) for row in db.execute(query)]
    finally:
        db.close()

serve("books", {"read": (["query"], run), "write": (["query"], lambda query: len(run(query)) or "done")})
`, place, open))
}

// shellServer is a server in plain sh: a line of JSON at a time, its file the first argument.
const shellServer = `#!/bin/sh
# Keeps a journal in the file that is its first argument.
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\|"[^"]*"\)[,}].*/\1/p')
  case $line in
  *'"method":"initialize"'*)
    version=$(printf '%s' "$line" | sed -n 's/.*"protocolVersion":"\([^"]*\)".*/\1/p')
    say "$id" '{"protocolVersion":"'"$version"'","capabilities":{"tools":{}},"serverInfo":{"name":"journal","version":"1"}}' ;;
  *'"method":"tools/list"'*)
    say "$id" '{"tools":[{"name":"get","inputSchema":{"type":"object"}},{"name":"put","inputSchema":{"type":"object"}}]}' ;;
  *'"method":"tools/call"'*'"name":"get"'*|*'"name":"get"'*'"method":"tools/call"'*)
    say "$id" '{"content":[{"type":"text","text":"'"$(tr -d '\n"' <"$1" 2>&1)"'"}]}' ;;
  *'"method":"tools/call"'*)
    if why=$( { echo beta >>"$1"; } 2>&1 ); then text=kept failed=false; else text=$(printf '%s' "$why" | tr -d '\n"') failed=true; fi
    say "$id" '{"content":[{"type":"text","text":"'"$text"'"}],"isError":'$failed'}' ;;
  *'"id"'*) say "$id" '{}' ;;
  esac
done
`

// perlServer does the same in Perl.
const perlServer = `#!/usr/bin/perl
use strict; use warnings; $| = 1;
my $file = $ENV{TODO_FILE} || shift;
while (my $line = <STDIN>) {
  my ($id) = $line =~ /"id":(\d+|"[^"]*")/ or next;
  my $result = '{}';
  if ($line =~ /"method":"initialize"/) {
    my ($version) = $line =~ /"protocolVersion":"([^"]*)"/;
    $result = qq({"protocolVersion":"$version","capabilities":{"tools":{}},"serverInfo":{"name":"todo","version":"1"}});
  } elsif ($line =~ /"method":"tools\/list"/) {
    $result = '{"tools":[{"name":"get","inputSchema":{"type":"object"}},{"name":"put","inputSchema":{"type":"object"}}]}';
  } elsif ($line =~ /"method":"tools\/call"/) {
    my ($text, $failed) = ('kept', 'false');
    if ($line =~ /"name":"get"/) { if (open(my $in, '<', $file)) { local $/; $text = <$in>; $text =~ s/\n/ /g } else { ($text, $failed) = ("$file: $!", 'true') } }
    elsif (open(my $out, '>>', $file)) { print $out "beta\n"; close $out }
    else { ($text, $failed) = ("$file: $!", 'true') }
    $result = qq({"content":[{"type":"text","text":"$text"}],"isError":$failed});
  }
  print qq({"jsonrpc":"2.0","id":$id,"result":$result}\n);
}
`

// goServer is a program of Go without any other module.
const goServer = `package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	file := os.Args[len(os.Args)-1]
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name, ProtocolVersion string
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := map[string]any{}
		switch m.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "keep", "version": "1"}}
		case "tools/list":
			schema := map[string]any{"type": "object"}
			result["tools"] = []any{map[string]any{"name": "get", "inputSchema": schema}, map[string]any{"name": "put", "inputSchema": schema}}
		case "tools/call":
			text, err := "kept", error(nil)
			if m.Params.Name == "get" {
				var b []byte
				b, err = os.ReadFile(file)
				text = string(b)
			} else if out, e := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); e != nil {
				err = e
			} else {
				fmt.Fprintln(out, "beta")
				out.Close()
			}
			if err != nil {
				text = err.Error()
			}
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": err != nil}
		}
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
		fmt.Println(string(b))
	}
}
`

// rubyStore keeps lines in a PStore, as small servers of Ruby do.
const rubyStore = `#!/usr/bin/ruby
require 'json'
require 'pstore'
$stdout.sync = true
place = File.expand_path(ARGV.last)
while (line = $stdin.gets)
  message = JSON.parse(line)
  next unless message['id']
  result =
    case message['method']
    when 'initialize'
      { protocolVersion: message['params']['protocolVersion'], capabilities: { tools: {} }, serverInfo: { name: 'store', version: '1' } }
    when 'tools/list'
      { tools: %w[get put].map { |name| { name: name, inputSchema: { type: 'object' } } } }
    when 'tools/call'
      begin
        store = PStore.new(place)
        text = store.transaction { message['params']['name'] == 'get' ? (store[:text] || 'nothing yet') : (store[:text] = 'beta'; 'kept') }
        { content: [{ type: 'text', text: text }], isError: false }
      rescue StandardError => e
        { content: [{ type: 'text', text: e.message }], isError: true }
      end
    else {}
    end
  puts JSON.generate({ jsonrpc: '2.0', id: message['id'], result: result })
end
`

// nodeServer keeps lines in a file as Node programs do; place is an expression, and put the code that writes text.
func nodeServer(place, put string) string {
	return fmt.Sprintf(`#!/usr/bin/env node
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
const place = %s
const text = s => ({ content: [{ type: 'text', text: s }] })
const tools = {
  get: () => text(fs.existsSync(place) ? fs.readFileSync(place, 'utf8') : 'nothing yet'),
  put: ({ text: more }) => { fs.mkdirSync(path.dirname(place), { recursive: true }); const old = fs.existsSync(place) ? fs.readFileSync(place, 'utf8') : ''; %s; return text('kept') },
}
createInterface({ input: process.stdin }).on('line', line => {
  const m = JSON.parse(line)
  if (m.id === undefined) return
  let result = {}
  if (m.method === 'initialize') result = { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'keep', version: '1' } }
  if (m.method === 'tools/list') result = { tools: Object.keys(tools).map(name => ({ name, inputSchema: { type: 'object' } })) }
  if (m.method === 'tools/call') try { result = tools[m.params.name](m.params.arguments ?? {}) } catch (e) { result = { ...text(String(e)), isError: true } }
  console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result }))
})
`, place, put)
}
