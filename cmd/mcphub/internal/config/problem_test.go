package config

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/config/jsonc"
)

// TestProblems: the exact line for every kind of mistake. Rows hold one
// mistake each unless several are the point.
func TestProblems(t *testing.T) {
	t.Parallel()
	in := func(entry string) string { return `{"mcpServers": {"a": ` + entry + `}}` } // the entry begins in column 22
	deep := strings.Repeat("[", jsonc.MaxDepth+1)
	for _, tc := range []struct{ name, text, want string }{
		// Syntax
		{"empty", "", `1:1: error: the file is empty; the least there can be is {"mcpServers": {}}`},
		{"blank", " \n ", `1:1: error: the file is empty; the least there can be is {"mcpServers": {}}`},
		{"no object", "[]", `1:1: error: found a list, want an object; the least there can be is {"mcpServers": {}}`},
		{"missing comma", "{\n  \"expose\": \"direct\"\n  \"names\": {}\n}", `3:3: error: invalid character '"' after object value (expecting ',' or '}'); a comma may be missing before this`},
		{"column counts characters", `{"é": "ü" x`, `1:11: error: invalid character 'x' after object value (expecting ',' or '}'); a comma may be missing before this`},
		{"byte order mark does not count", "\xef\xbb\xbf{x", `1:2: error: invalid literal "x"; names and strings stand in double quotes, a backslash is written twice`},
		{"backslash", `{"a": "C:\Users"}`, `1:7: error: invalid literal "\"C:\\Users\""; names and strings stand in double quotes, a backslash is written twice`},
		{"single quotes", "{'a': 1}", `1:2: error: invalid character '\'' at start of value; strings stand in double quotes`},
		{"end in object", "{\"a\": {\n", `2:1: error: the file ends too early; a brace or bracket is not closed`},
		{"end in comment", "{ /* ", `1:3: error: the file ends too early; a comment is not closed`},
		{"end in string", `{"a": "b`, `1:9: error: the file ends too early; a string is not closed`},
		{"TOML", "# Codex\n[mcp_servers.a]\ncommand = \"npx\"\n", "1:1: error: this looks like TOML, and hub.json is JSON; `mcphub import FILE` reads the servers of a client's configuration in TOML"},
		{"YAML", "mcpServers:\n  a:\n    command: npx\n", "1:1: error: this looks like YAML, and hub.json is JSON; `mcphub import FILE` reads the servers of a client's configuration in YAML"},
		{"broken JSON", "[ }", `1:3: error: invalid character '}' at start of value; names and strings stand in double quotes, a backslash is written twice`},
		{"not UTF-8", "{\n \"a\": \"\xff\"}", `2:8: error: byte 0xff is not UTF-8; save the file as UTF-8`},
		{"UTF-16", "\xff\xfe{\x00", `1:1: error: the file is UTF-16; save it as UTF-8`},
		{"too deep", deep, `1:101: error: more than 100 levels of nesting; no key of hub.json lies deeper than 7: take the brackets out that are too many`},
		{"no server", "{}", `1:1: warning: mcpServers: no server is named; add one: "files": { "builtin": "files" }`},

		// Types
		{"servers a list", `{"mcpServers": []}`, `1:16: error: mcpServers: found a list, want an object of servers by name`},
		{"entry a string", in(`"npx"`), `1:22: error: mcpServers.a: found a string, want an object`},
		{"string for list", in(`{"command": "x", "args": "y"}`), `1:47: error: mcpServers.a.args: found a string, want a list; put it in brackets, each word for itself: ["one", "two"]`},
		{"number in list", in(`{"command": "x", "args": ["-p", 80]}`), `1:54: error: mcpServers.a.args[1]: found a number, want a string; write it in quotes: "80"`},
		{"null in list", in(`{"command": "x", "args": [null]}`), `1:48: error: mcpServers.a.args[0]: found null, want a string`},
		{"string for boolean", in(`{"command": "x", "local": "true"}`), `1:48: error: mcpServers.a.local: found a string, want true or false; write true without quotes`},
		{"list as variable", in(`{"command": "x", "env": {"A": []}}`), `1:52: error: mcpServers.a.env.A: found a list, want a string, a number or a boolean`},
		{"name with dots", `{"mcpServers": {"a.b": {"command": "x", "env": {"c.d": {}}}}}`, `1:56: error: mcpServers["a.b"].env["c.d"]: found an object, want a string, a number or a boolean`},
		{"string for number", `{"mcpServers": {"f": {"builtin": "files"}}, "names": {"max": "40"}}`, `1:62: error: names.max: found a string, want a whole number; write 40 without quotes`},
		{"fraction", `{"mcpServers": {"f": {"builtin": "files"}}, "names": {"max": 40.5}}`, `1:62: error: names.max: found "40.5", want a whole number`},
		{"number for shorthand", `{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"fallback": [3]}}`, `1:68: error: roots.fallback[0]: found a number, want a string or an object`},
		{"null for a policy", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": null}`, `1:55: error: policy: found null, want an object`},
		{"timeout a list", in(`{"command": "x", "timeout": []}`), `1:50: error: mcpServers.a.timeout.call: found a list, want a duration such as "10s"`},

		// Values
		{"choice", in(`{"command": "x", "share": "sesion"}`), `1:48: error: mcpServers.a.share: found "sesion", want "session", "roots" or "all"; did you mean "session"?`},
		{"arguments", in(`{"command": "x", "arguments": "relaxed"}`), `1:52: error: mcpServers.a.arguments: found "relaxed", want "lenient", "strict" or "off"`},
		{"arguments of a program", in(`{"command": "x", "arguments": ["-y"]}`), `1:52: error: mcpServers.a.arguments: found a list, want "lenient", "strict" or "off"`},
		{"a misspelling of arguments", in(`{"command": "x", "argument": "strict"}`), `1:39: error: mcpServers.a.argument: unknown key "argument"; did you mean "arguments"?`},
		{"flow", in(`{"url": "https://h/", "auth": {"flow": "browse"}}`), `1:61: error: mcpServers.a.auth.flow: found "browse", want "browser", "device", "client" or "exchange"; did you mean "browser"?`},
		{"a client without a redirect", in(`{"url": "https://h/", "auth": {"clientId": "i"}}`), `1:65: note: mcpServers.a.auth.clientId: the browser comes back to http://127.0.0.1:PORT/callback, on any free port; if the client is registered with another redirect, write its parts: "redirectHost", "redirectPath" and "callbackPort"`},
		{"a client with a redirect", in(`{"url": "https://h/", "auth": {"clientId": "i", "callbackPort": 8976}}`), ""},
		{"a client that needs no redirect", in(`{"url": "https://h/", "auth": {"clientId": "i", "flow": "device"}}`), ""},
		{"a document of a client", in(`{"url": "https://h/", "auth": {"clientId": "https://you.example/mcphub.json"}}`), ""},
		{"a secret held twice", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"resource": "https://h/mcp", "issuers": [{"issuer": "https://l/", "login": {"clientId": "i", "env": "A", "file": "a"}}]}}`, `1:129: error: http.issuers[0].login: a secret is held by a variable or by a file; give one of "env" and "file"`},
		{"a client without a secret", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"resource": "https://h/mcp", "issuers": [{"issuer": "https://l/", "login": {"clientId": "i"}}]}}`, ""},
		{"an exchange for no client", in(`{"url": "https://h/", "auth": {"flow": "exchange"}}`), `1:61: error: mcpServers.a.auth.flow: the authorization server exchanges tokens for a client that it knows, which is not named; register one there, and write its "clientId" and "clientSecret" beside it`},
		{"an exchange for no one", in(`{"url": "https://h/", "auth": {"flow": "exchange", "clientId": "i"}}`), `1:61: warning: mcpServers.a.auth.flow: no one can call this server: only tokens of issuers are exchanged, and no issuer is named; add "issuers" under "http"`},
		{"an exchange, and credentials", in(`{"url": "https://h/", "headers": {"authorization": "x"}, "auth": {"flow": "exchange", "clientId": "i"}}`), `1:56: error: mcpServers.a.headers.authorization: every caller would have these credentials, and none a token in exchange for its own; leave it out, or take "auth" out`},
		{"issuer", in(`{"url": "https://h/", "auth": {"issuer": "login.example"}}`), `1:63: error: mcpServers.a.auth.issuer: is no URL`},
		{"port of a login", in(`{"url": "https://h/", "auth": {"callbackPort": 70000}}`), `1:69: error: mcpServers.a.auth.callbackPort: "70000" is out of range; want 1 to 65535`},
		{"host of a redirect", in(`{"url": "https://h/", "auth": {"redirectHost": "example.com"}}`), `1:69: error: mcpServers.a.auth.redirectHost: found "example.com", want "127.0.0.1" or "localhost"`},
		{"path of a redirect", in(`{"url": "https://h/", "auth": {"redirectPath": "callback"}}`), `1:69: error: mcpServers.a.auth.redirectPath: "callback" does not begin with /`},
		{"a redirect that leads up", in(`{"url": "https://h/", "auth": {"redirectPath": "/a/../b"}}`), `1:69: error: mcpServers.a.auth.redirectPath: "/a/../b" holds more than names of letters, digits and - . _ ~ between single slashes`},
		{"a redirect with a query", in(`{"url": "https://h/", "auth": {"redirectPath": "/a?b"}}`), `1:69: error: mcpServers.a.auth.redirectPath: "/a?b" holds more than names of letters, digits and - . _ ~ between single slashes`},
		{"a login of a program", in(`{"command": "x", "auth": {"clientId": "i"}}`), `1:47: warning: mcpServers.a.auth: has no effect with "command"; leave it out`},
		{"unknown in a login", in(`{"url": "https://h/", "auth": {"clientID": "i"}}`), `1:53: warning: mcpServers.a.auth.clientID: unknown key "clientID"; did you mean "clientId"?`},
		{"a map of nothing", `{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"map": {"/home/me": "/x"}}}`, `1:63: error: roots.map["/home/me"]: "/home/me" is no beginning of a URI; want SCHEME://HOST/PATH, as get-roots shows a root that was skipped`},
		{"a map without a host", `{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"map": {"vscode-remote:///x": "/x"}}}`, `1:63: error: roots.map["vscode-remote:///x"]: "vscode-remote:///x" is no beginning of a URI; want SCHEME://HOST/PATH, as get-roots shows a root that was skipped`},
		{"a map to nothing", `{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"map": {"vscode-remote://h/x": ""}}}`, `1:86: error: roots.map["vscode-remote://h/x"]: must not be empty`},
		{"headers of a program's program", in(`{"command": "x", "headersFrom": {"command": "y"}}`), `1:54: warning: mcpServers.a.headersFrom: has no effect with "command"; leave it out`},
		{"headers of nothing", in(`{"url": "https://h/", "headersFrom": {"args": ["y"]}}`), `1:59: error: mcpServers.a.headersFrom: "command" is missing; name the program that prints them`},
		{"unknown for headers", in(`{"url": "https://h/", "headersFrom": {"command": "y", "arg": "z"}}`), `1:76: error: mcpServers.a.headersFrom.arg: unknown key "arg"; did you mean "args"?`},
		{"headers for a moment", in(`{"url": "https://h/", "headersFrom": {"command": "y", "ttl": 0}}`), `1:83: error: mcpServers.a.headersFrom.ttl: "0" is out of range; want 1ms to 720h0m0s`},
		{"a line for a shell", in(`{"url": "https://h/", "headersHelper": "a | b"}`), `1:44: error: mcpServers.a.headersHelper: is more than a program and its arguments, and there is no shell; write "headersFrom": {"command": ..., "args": [...]}`},
		{"TLS of a program", in(`{"command": "x", "tls": {"ca": "ca.pem"}}`), `1:46: error: mcpServers.a.tls: goes with an https "url" only; write "https://HOST/PATH", or leave it out`},
		{"TLS without", in(`{"url": "http://h/", "tls": {"ca": "ca.pem"}}`), `1:50: error: mcpServers.a.tls: goes with an https "url" only; write "https://HOST/PATH", or leave it out`},
		{"no file", in(`{"url": "https://h/", "tls": {"ca": ""}}`), `1:58: error: mcpServers.a.tls.ca: must not be empty`},
		{"certificate without a key", in(`{"url": "https://h/", "tls": {"cert": "c.pem"}}`), `1:60: error: mcpServers.a.tls.cert: needs "key" beside it; a server is shown a certificate and proves to have its key`},
		{"key without a certificate", in(`{"url": "https://h/", "tls": {"key": "k.pem"}}`), `1:59: error: mcpServers.a.tls.key: needs "cert" beside it; a server is shown a certificate and proves to have its key`},
		{"no pin", in(`{"url": "https://h/", "tls": {"pin": "sha256/AAAA"}}`), `1:59: error: mcpServers.a.tls.pin: is no pin; want "sha256/" and 44 characters of base64, as the error of a pin that does not fit prints it`},
		{"no pins", in(`{"url": "https://h/", "tls": {"pin": []}}`), `1:59: error: mcpServers.a.tls.pin: the list is empty; leave the key out where everything is meant`},
		{"unknown in TLS", in(`{"url": "https://h/", "tls": {"pins": "x"}}`), `1:52: error: mcpServers.a.tls.pins: unknown key "pins"; did you mean "pin"?`},
		{"allow", `{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"when": {"empty": "yes"}}}`, `1:73: error: roots.when.empty: found "yes", want "allow" or "deny"`},
		{"no prefix of URIs", `{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"resources": ["https://x.example/", "file:///x"]}}`, `1:91: error: roots.resources[1]: is no prefix of URIs: directories are roots, not resources`},
		{"duration without unit", `{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"timeout": "10"}}`, `1:66: error: roots.timeout: "10" is no duration; write "10s" or "10ms"`},
		{"duration out of range", `{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"timeout": "2h"}}`, `1:66: error: roots.timeout: "2h" is out of range; want 1ms to 1h0m0s`},
		{"negative", in(`{"command": "x", "timeout": {"call": -1}}`), `1:59: error: mcpServers.a.timeout.call: "-1" is out of range; want 1ms to 24h0m0s`},
		{"huge", in(`{"command": "x", "timeout": 1e300}`), `1:50: error: mcpServers.a.timeout.call: number out of range`},
		{"size", `{"mcpServers": {"f": {"builtin": "files"}}, "limits": {"frame": "64M"}}`, `1:65: error: limits.frame: there is no unit "M"; write B, KiB, MiB, GiB, kB, MB or GB`},
		{"size out of range", `{"mcpServers": {"f": {"builtin": "files"}}, "limits": {"frame": 1}}`, `1:65: error: limits.frame: "1" is out of range; want 64KiB to 1GiB`},
		{"pointer", in(`{"command": "x", "paths": {"args": {"t": {"files": "read"}}}}`), `1:64: error: mcpServers.a.paths.args.t.files: "files" is no JSON pointer; write "/" before it`},
		{"role missing", in(`{"command": "x", "paths": {"args": {"t": {"/f": {"base": "/g"}}}}}`), `1:70: error: mcpServers.a.paths.args.t["/f"]: "role" is missing; want "read", "write", "delete" or "none"`},
		{"pattern", in(`{"command": "x", "tools": {"exclude": ["["]}}`), `1:61: error: mcpServers.a.tools.exclude[0]: "[" is no pattern; close the [ or take the \ at the end out`},
		{"nothing included", in(`{"command": "x", "tools": []}`), `1:48: error: mcpServers.a.tools.include: the list is empty; leave the key out where everything is meant`},
		{"NUL", in(`{"command": "x", "args": ["a\u0000b"]}`), `1:48: error: mcpServers.a.args[0]: holds a NUL character, which no program, path or name can; take \u0000 out of it`},
		{"line break in header", in(`{"url": "http://h/", "headers": {"A": "b\r\nc"}}`), `1:60: error: mcpServers.a.headers.A: holds a line break, which no HTTP header can; take it out`},
		{"variable name", in(`{"command": "x", "env": {"A=B": "c"}}`), `1:47: error: mcpServers.a.env["A=B"]: "A=B" is no name of a variable; write letters, digits and _`},
		{"listen", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"listen": "8080"}}`, `1:64: error: http.listen: is no address; want HOST:PORT, such as 127.0.0.1:8080`},
		{"prefix", in(`{"command": "x", "prefix": "a/b"}`), `1:49: error: mcpServers.a.prefix: "a/b" must be at most 64 of A-Z a-z 0-9 _ . -`},

		// Unknown keys
		{"unknown in entry", in(`{"command": "x", "argz": []}`), `1:39: warning: mcpServers.a.argz: unknown key "argz"; did you mean "args"?`},
		{"unknown, far from all", in(`{"command": "x", "zzzzzz": []}`), `1:39: warning: mcpServers.a.zzzzzz: unknown key "zzzzzz"; it has no effect`},
		{"unknown at the top", `{"mcpServers": {"f": {"builtin": "files"}}, "exposed": "direct"}`, `1:45: warning: exposed: unknown key "exposed"; did you mean "expose"?`},
		{"another letter case", `{"mcpServers": {"f": {"builtin": "files"}}, "Limits": {}}`, `1:45: warning: Limits: unknown key "Limits"; did you mean "limits"?`},
		{"misspelt client key", in(`{"command": "x", "enviroment": {}}`), `1:39: warning: mcpServers.a.enviroment: unknown key "enviroment"; did you mean "environment"?`},
		{"wrong place", `{"mcpServers": {"f": {"builtin": "files"}}, "debounce": 1}`, `1:45: warning: debounce: unknown key "debounce"; it belongs under "roots"`},
		{"bare entry", `{"git": {"command": "x"}}`, `1:1: warning: mcpServers: no server is named; add one: "files": { "builtin": "files" }
1:2: warning: git: unknown key "git"; a server belongs under "mcpServers"`},
		{"misspelt container", `{"mcpServer": {"a": {"command": "x"}}}`, `1:2: error: mcpServer: unknown key "mcpServer"; did you mean "mcpServers"?`},
		{"misspelt container without servers", `{"mcpservers": {}}`, `1:2: error: mcpservers: unknown key "mcpservers"; did you mean "mcpServers"?`},
		{"misspelt container of a client", `{"server": {}}`, `1:2: error: server: unknown key "server"; did you mean "servers"?`},
		{"servers by another name", `{"mcpServers": {"f": {"builtin": "files"}}, "tools": {"a": {"command": "x"}, "b": {"url": "http://h/"}}}`, `1:45: error: tools: unknown key "tools"; did you mean "mcpServers"?`},
		// ... that would open something if they were passed over
		{"misspelt policy", `{"mcpServers": {"f": {"builtin": "files"}}, "polcy": {}}`, `1:45: error: polcy: unknown key "polcy"; did you mean "policy"?`},
		{"rules at the top", `{"mcpServers": {"f": {"builtin": "files"}}, "rules": []}`, `1:45: error: rules: unknown key "rules"; it belongs under "policy"`},
		{"misspelt condition", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": {"rules": [{"then": "allow", "if": {"paths": {"wihtin": "/a"}}}]}}`, `1:101: error: policy.rules[0].if.paths.wihtin: unknown key "wihtin"; did you mean "within"?`},
		{"paths outside of if", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": {"rules": [{"then": "deny", "paths": {}}]}}`, `1:83: error: policy.rules[0].paths: unknown key "paths"; it belongs under "if"`},
		{"within outside of paths", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": {"rules": [{"then": "deny", "if": {"within": "/a"}}]}}`, `1:90: error: policy.rules[0].if.within: unknown key "within"; it belongs under "paths"`},
		{"outside at the rule", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": {"rules": [{"then": "deny", "outside": true}]}}`, `1:83: error: policy.rules[0].outside: unknown key "outside"; it belongs under "if.paths"`},
		{"misspelt decision", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": {"rules": [{"then": "denny"}]}}`, `1:75: error: policy.rules[0].then: found "denny", want "allow", "deny" or "escalate"; did you mean "deny"?`},
		{"misspelt role", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": {"rules": [{"then": "deny", "if": {"paths": {"roles": ["wirte"]}}}]}}`, `1:110: error: policy.rules[0].if.paths.roles[0]: found "wirte", want "read", "write" or "delete"; did you mean "write"?`},
		{"misspelt case", `{"mcpServers": {"f": {"builtin": "files"}}, "roots": {"when": {"unsuported": "deny"}}}`, `1:64: error: roots.when.unsuported: unknown key "unsuported"; did you mean "unsupported"?`},
		{"misspelt exclude", in(`{"command": "x", "tools": {"hide": ["y"]}}`), `1:49: error: mcpServers.a.tools.hide: unknown key "hide"; want "include", "exclude", "always", "rename", "describe" or "set"`},
		{"misspelt disabled", in(`{"command": "x", "disabeld": true}`), `1:39: error: mcpServers.a.disabeld: unknown key "disabeld"; did you mean "disabled"?`},
		{"misspelt client filter", in(`{"command": "x", "disabledTool": ["y"]}`), `1:39: error: mcpServers.a.disabledTool: unknown key "disabledTool"; did you mean "disabledTools"?`},
		{"misspelt ceiling", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"tokens": [{"name": "n", "env": "E", "root": ["/a"]}]}}`, `1:91: error: http.tokens[0].root: unknown key "root"; did you mean "roots"?`},
		{"empty condition", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": {"rules": [{"then": "deny", "if": {"tools": []}}]}}`, `1:99: error: policy.rules[0].if.tools: the list is empty; leave the key out where everything is meant`},

		// Duplicates
		{"duplicate in entry", "{\"mcpServers\": {\"a\": {\n\"command\": \"x\",\n\"command\": \"x\"}}}", `3:1: error: mcpServers.a.command: key "command" stands twice, on lines 2 and 3; remove one of them`},
		{"duplicate server", "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}", `3:1: error: mcpServers.a: key "a" stands twice, on lines 2 and 3; remove one of them`},
		{"duplicate at the top", "{\"mcpServers\": {\"f\": {\"builtin\": \"files\"}},\n\"policy\": {},\n\"policy\": {}}", `3:1: error: policy: key "policy" stands twice, on lines 2 and 3; remove one of them`},
		{"duplicate by escape", in(`{"command": "x", "\u0063ommand": "y"}`), `1:39: error: mcpServers.a.command: key "command" stands twice, on lines 1 and 1; remove one of them`},
		{"two containers", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}},\n\"servers\": {\"a\": {\"command\": \"y\"}}}", `2:13: error: mcpServers.a: there is another server "a" on line 1; rename one of them`},
		{"two rules", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": {"rules": [{"name": "r", "then": "deny"}, {"name": "r", "then": "deny"}]}}`, `1:97: error: policy.rules[1].name: another rule on line 1 is called "r"; rename one of them`},
		{"two tokens", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"tokens": [{"name": "n", "env": "E"}, {"name": "n", "env": "F"}]}}`, `1:92: error: http.tokens[1].name: another token on line 1 is called "n"; rename one of them`},
		{"token of the user", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"tokens": [{"name": "local", "env": "E"}]}}`, `1:74: error: http.tokens[0].name: "local" is what the record, status and rules call the user of this machine; give the token another name`},
		{"token of nobody", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"tokens": [{"name": "nobody ", "env": "E"}]}}`, `1:74: error: http.tokens[0].name: "nobody " is what the record, status and rules call whoever comes without a token; give the token another name`},
		{"token that reads otherwise", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"tokens": [{"name": "\u202ecila", "env": "E"}]}}`, `1:74: error: http.tokens[0].name: "\u202ecila" must not hold control characters, line breaks, or characters that change the direction of text`},
		{"group that clears the screen", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"tokens": [{"name": "n", "env": "E", "groups": ["\u001b[2J"]}]}}`, `1:102: error: http.tokens[0].groups[0]: "\x1b[2J" must not hold control characters, line breaks, or characters that change the direction of text`},
		{"token of two places", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"tokens": [{"name": "n", "env": "E", "file": "/t"}]}}`, `1:65: error: http.tokens[0]: a token is held by a variable or by a file; give one of "env" and "file"`},
		{"token of no place", `{"mcpServers": {"f": {"builtin": "files"}}, "http": {"tokens": [{"name": "n"}]}}`, `1:65: error: http.tokens[0]: a token is held by a variable or by a file; give one of "env" and "file"`},

		// Entries as a whole
		{"nothing to start", in(`{"args": []}`), `1:17: error: mcpServers.a: one of "command", "url" or "builtin" is missing; say what to start or where to connect`},
		{"two things to start", in(`{"command": "x", "url": "http://h/"}`), `1:46: error: mcpServers.a: has both "command" and "url"; keep the one that is meant`},
		{"empty command", in(`{"command": " "}`), `1:34: error: mcpServers.a.command: must not be empty`},
		{"unknown builtin", in(`{"builtin": "file"}`), `1:34: error: mcpServers.a.builtin: found "file", want "files"; did you mean "files"?`},
		{"blank in name", `{"mcpServers": {"My Server": {"command": "x"}}}`, `1:17: note: mcpServers["My Server"]: is called "My-Server" in the hub: in the names of its tools, in rules and in reports`},
		{"separator in name", `{"mcpServers": {"a__b": {"command": "x"}}}`, `1:17: note: mcpServers.a__b: is called "a_b" in the hub: in the names of its tools, in rules and in reports`},
		{"shell line", in(`{"command": "npx -y pkg"}`), `1:34: warning: mcpServers.a.command: the whole text is taken for the name of one program; write "command": "npx", "args": ["-y", "pkg"]`},
		{"shell line with quotes", in(`{"command": "sh -c 'a b'"}`), `1:34: warning: mcpServers.a.command: the whole text is taken for the name of one program; write "command": "sh", and the other words each on its own under "args"`},
		{"shell line with a path", in(`{"command": "/usr/bin/node /srv/x.js"}`), `1:34: warning: mcpServers.a.command: the whole text is taken for the name of one program; write "command": "/usr/bin/node", "args": ["/srv/x.js"]`},
		{"a folder with a blank", in(`{"command": "C:\\Program Files\\nodejs\\node.exe"}`), ""},
		{"an app with a blank", in(`{"command": "/Applications/My App/bin/x"}`), ""},
		{"type and command", in(`{"command": "x", "type": "sse"}`), `1:47: error: mcpServers.a.type: "sse" does not go with "command"; leave it out`},
		{"protocol unknown", in(`{"command": "x", "protocol": "2025-06-08"}`), `1:51: error: mcpServers.a.protocol: found "2025-06-08", want "", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26" or "2024-11-05"; did you mean "2025-06-18"?`},
		{"protocol with a handshake and era", in(`{"command": "x", "era": "modern", "protocol": "2025-06-18"}`), `1:68: error: mcpServers.a.protocol: "2025-06-18" does not go with "era": "modern"; keep the one that is meant`},
		{"protocol without a handshake and era", in(`{"command": "x", "era": "legacy", "protocol": "2026-07-28"}`), `1:68: error: mcpServers.a.protocol: "2026-07-28" does not go with "era": "legacy"; keep the one that is meant`},
		{"protocol without a handshake and type", in(`{"url": "http://h/", "type": "sse", "protocol": "2026-07-28"}`), `1:70: error: mcpServers.a.protocol: "2026-07-28" does not go with "type": "sse"; keep the one that is meant`},
		{"protocol without a handshake and builtin", in(`{"builtin": "files", "protocol": "2026-07-28"}`), `1:55: error: mcpServers.a.protocol: "2026-07-28" does not go with "builtin"; keep the one that is meant`},
		{"type and url", in(`{"url": "http://h/", "type": "stdio"}`), `1:51: error: mcpServers.a.type: "stdio" does not go with "url"; leave it out`},
		{"url scheme", in(`{"url": "unix:///s"}`), `1:30: error: mcpServers.a.url: the text is no http or https URL; want "https://HOST/PATH"`},
		{"url without host", in(`{"url": "https:///mcp"}`), `1:30: error: mcpServers.a.url: the text has no host; want "https://HOST/PATH"`},
		{"no effect", in(`{"url": "http://h/", "args": ["x"], "env": {}}`), `1:51: warning: mcpServers.a.args: has no effect with "url"; leave it out`},
		{"roots and url", in(`{"url": "http://h/", "roots": "args"}`), `1:52: error: mcpServers.a.roots: "args" does not go with "url"; a server on the network can be told by "list" only`},
		{"rule for nobody by a pattern", `{"mcpServers": {"files": {"builtin": "files"}}, "policy": {"rules": [{"then": "deny", "if": {"servers": ["git*", "f*"]}}]}}`, `1:106: warning: policy.rules[0].if.servers[0]: no server is called like "git*"; the servers are files`},
		{"rule for nobody", `{"mcpServers": {"files": {"builtin": "files"}}, "policy": {"rules": [{"then": "deny", "if": {"servers": ["file"]}}]}}`, `1:106: warning: policy.rules[0].if.servers[0]: there is no server "file"; did you mean "files"?`},
		{"serve", `{"mcpServers": {"f": {"builtin": "files"}}, "policy": {"rules": [{"then": "deny", "serve": true}]}}`, `1:92: warning: policy.rules[0].serve: has no effect with "deny"; leave it out`},

		// All at once
		{"several", "{\n \"mcpServers\": {\n  \"a\": { \"command\": 1, \"local\": 2 },\n  \"b\": { \"comand\": \"x\" } },\n \"names\": { \"max\": 1 }\n}",
			`3:21: error: mcpServers.a.command: found a number, want a string; write it in quotes: "1"
3:33: error: mcpServers.a.local: found a number, want true or false
4:3: error: mcpServers.b: one of "command", "url" or "builtin" is missing; say what to start or where to connect
4:10: warning: mcpServers.b.comand: unknown key "comand"; did you mean "command"?
5:20: error: names.max: "1" is out of range; want 16 to 128`},
		{"control characters", in(`{"command": "x", "\u001b[31m": 1}`), `1:39: warning: mcpServers.a["\x1b[31m"]: unknown key "\x1b[31m"; it has no effect`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, problems, _ := Parse("", []byte(tc.text), envOf(nil))
			var got []string
			for _, p := range problems {
				got = append(got, strings.TrimSpace(p.String()))
			}
			want := tc.want
			if g := strings.Join(got, "\n"); g != want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.text, g, want)
			}
		})
	}
}

func TestProblemString(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Problem{
		"hub.json:3:4: warning: a.b: text; hint": {File: "hub.json", Line: 3, Col: 4, Key: "a.b", Severity: SeverityWarning, Text: "text", Hint: "hint"},
		"hub.json: error: text":                  {File: "hub.json", Text: "text"},
		"note: text":                             {Severity: SeverityNote, Text: "text"},
	} {
		if got := p.String(); got != want || p.Error() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"mcpServers": {`)
	for i := range 2 * maxProblems {
		fmt.Fprintf(&b, `"s%d": {"command": 1},`, i)
	}
	b.WriteString("}}")
	f, problems, err := Parse("hub.json", []byte(b.String()), nil)
	if err != nil || len(problems) != maxProblems+1 || !strings.Contains(problems[maxProblems].Text, "not shown") {
		t.Fatal(len(problems), err)
	}
	for _, s := range f.Servers {
		if s.Err == nil {
			t.Fatalf("%s did not fail", s.Name)
		}
	}
}

// TestNoValueOfAVariableIsShown: messages go to logs.
func TestNoValueOfAVariableIsShown(t *testing.T) {
	t.Parallel()
	env := map[string]string{"S": "s3cret\r\n://", "N": "s3cret\x00"}
	for _, text := range []string{
		`{"mcpServers": {"a": {"url": "${S}"}}}`,
		`{"mcpServers": {"a": {"url": "http://h/", "headers": {"A": "${S}"}}}}`,
		`{"mcpServers": {"a": {"command": "x", "args": ["${N}"]}}}`,
		`{"mcpServers": {"a": {"command": "x", "env": {"A": "$s3cret", "B": "{env:s3cret}"}}}}`,
		`{"http": {"listen": "${S}"}}`,
	} {
		_, problems, err := Parse("hub.json", []byte(text), envOf(env))
		if len(problems) == 0 {
			t.Errorf("%s: no problem", text)
		}
		if all := fmt.Sprint(problems, err); strings.Contains(all, "s3cret") {
			t.Errorf("%s: %s", text, all)
		}
	}
}
