package config

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everyKey uses every key of hub.json, in our own spelling.
const everyKey = `{
  "$schema": "./hub.schema.json", "sandbox": "auto", "attach": { "mode": "auto", "idle": "1m" },
  "mcpServers": {
    "files": { "builtin": "files" },
    "filesystem": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"], "roots": "args" },
    "git.hub": { "url": "https://example.com/mcp", "type": "http", "headers": { "Authorization": "Bearer ${GITHUB_TOKEN}" }, "tls": { "ca": "ca.pem", "cert": "c.pem", "key": "k.pem", "pin": "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" }, "headersFrom": { "command": "token", "args": ["-x"], "ttl": "5m" },
                 "paths": { "mode": "declared" } },
    "git": { "command": "uvx", "args": ["mcp-server-git"], "cwd": "${root}", "env": { "LANG": "C.UTF-8", "a.b": 1, "gone": null },
             "envFile": ".env", "inherit": ["GIT_SSH_COMMAND"], "local": true,
             "paths": { "mode": "strict",
                        "args": { "git_add": { "/files/*": { "role": "write", "base": "/repo_path" } }, "git_diff": { "/target": "none" } } },
             "arguments": "strict", "prefix": "", "changes": "refuse", "tools": { "include": ["*"], "exclude": ["git_reset"], "rename": { "git_log": "history" }, "describe": { "git_log": "What was done." }, "set": { "git_log": { "/repo/path": { "a": [1, null] } } } },
             "share": "roots", "start": "eager", "era": "legacy", "protocol": "2025-06-18", "sandbox": { "mode": "required", "read": ["~/a"], "write": ["b"], "network": [443, 80], "sockets": "on", "widen": "refuse" },
             "timeout": { "start": "30s", "call": 90000, "idle": "0", "stop": "1s" }, "limits": { "memory": "1GiB", "processes": 50, "calls": 4, "queue": 0, "rate": "60/min", "tools": { "write_*": { "calls": 1, "rate": "10/s" } } }, "results": { "max": "off" },
             "disabled": true },
  },
  "changes": "warn", "name": "team-hub", "title": "Hub of the team", "instructions": "Ask first.", "names": { "separator": "--", "max": 40 },
  "expose": { "mode": "auto", "tokens": 12000 }, "results": { "max": "100KiB" },
  "inputs": [ { "id": "key", "description": "The key", "password": true, "type": "promptString" } ],
  "secrets": { "store": "file", "identity": "~/id" }, "auth": { "clientId": "https://client.example/mcphub.json" },
  "roots": { "timeout": "5s", "debounce": 100, "stale": "1m",
             "fallback": [".", { "path": "/shared/media", "name": "Media" }],
             "when": { "unsupported": "deny", "empty": "allow", "failed": "allow" }, "resources": ["https://api.example.com/v1/"], "clientResources": true, "map": { "vscode-remote://ssh-remote+host/home/me": "~/work" } },
  "policy": { "sandbox": "/tmp/sandbox", "protected": ["~/.ssh"],
              "rules": [ { "name": "read-documents", "then": "allow",
                           "if": { "principals": ["alice"], "groups": ["dev"], "servers": ["files*"], "tools": ["read_*"], "paths": { "roles": ["read"], "within": "~/Documents" } } },
                         { "then": "escalate", "serve": true, "if": { "paths": { "roles": ["read", "write"], "outside": true } } },
                         { "then": "deny" } ] },
  "approval": { "timeout": "1m", "from": ["terminal", "console"], "local": "tty", "notify": "off" },
  "audit": { "dir": "off", "required": true, "arguments": true, "stdout": true, "keep": { "age": "90d", "size": "10GiB" }, "syslog": { "address": "tls://logs.example:6514", "ca": "/etc/ssl/logs.pem" } },
  "metrics": { "listen": "127.0.0.1:9464", "token": { "env": "METRICS_TOKEN" }, "hosts": ["hub.local"], "principals": true },
  "logs": { "dir": "off" },
  "http": { "listen": "[::1]:8080", "hosts": ["hub.local"], "origins": ["https://hub.local"], "poll": "20s", "drain": "3s", "grace": "1m", "idle": "1h", "stateKey": [{ "env": "STATE_KEY" }],
            "tls": { "cert": "cert.pem", "key": "key.pem" },
            "when": { "noRoots": "allow" }, "node": "hub-1", "trustedProxies": ["10.0.0.0/8", "::1"], "peers": ["http://hub-2:8080"],
            "tokens": [ { "name": "alice", "env": "ALICE_TOKEN", "groups": ["dev"], "roots": ["/srv/alice"], "toolsets": ["web"] }, { "name": "bob", "file": "~/bob.token" } ],
            "resource": "https://hub.example/mcp",
            "issuers": [ { "issuer": "https://login.example/realm", "audience": "hub", "principal": "email", "groups": "teams", "scopes": ["mcp"],
                           "roots": { "claim": "groups", "values": { "team-a": ["/srv/team-a"] } },
                           "toolsets": { "claim": "groups", "values": { "team-a": ["web"] } },
                           "login": { "clientId": "hub-login", "env": "LOGIN_SECRET" } } ] },
  "toolsets": { "web": { "servers": ["files"], "tools": ["git--git_*"], "exclude": ["*--*_delete"], "instructions": "Look first.", "selectable": true } },
  "clients": { "codex": ["web"] }, "projects": { "~/work/shop": ["web"] },
  "limits": { "frame": "1MiB", "id": "2KiB", "definitions": "1MiB", "sessions": 1, "calls": 2, "children": 3, "starting": 4, "depth": 8, "principal": { "sessions": 1, "calls": 2, "children": 3, "rate": 4, "burst": 5 } }, // a comment
}`

func envOf(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}
