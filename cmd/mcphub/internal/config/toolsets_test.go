package config

import (
	"strings"
	"testing"
)

// What a toolset names has to be there, and so has a toolset that someone chooses: otherwise the error has the line, and what to write.
func TestToolsets(t *testing.T) {
	t.Parallel()
	const servers = `"mcpServers": {"files": {"builtin": "files"}, "git": {"command": "git-server", "disabled": true}}, `
	const web = `"toolsets": {"web": {"servers": ["files"]}}, `
	const issuer = `"http": {"resource": "https://hub.example/mcp", "issuers": [{"issuer": "https://login.example", "toolsets": {"claim": "groups", "values": {"a": `
	for text, want := range map[string]string{
		// Controls: each of them is right.
		`"toolsets": {"web": {"servers": ["files"], "tools": ["git__*", "f*__read_*"], "exclude": ["*__write_*"], "instructions": "Look."}}`:              "",
		`"names": {"separator": "--"}, "toolsets": {"web": {"tools": ["git--x__y"]}}`:                                                                     "",
		web + `"clients": {"codex": ["web"]}, "projects": {"~/work/shop": ["web"]}, "http": {"tokens": [{"name": "a", "env": "A", "toolsets": ["web"]}]}`: "",
		web + issuer + `["web"]}}}]}`: "",

		`"toolsets": {"web": {"servers": ["fils"]}}`:                                       `toolsets.web.servers[0]: there is no server "fils"; did you mean "files"?`,
		`"toolsets": {"web": {}}`:                                                          `toolsets.web: the toolset names neither servers nor tools, so it shows nothing; add "servers": ["files"]`,
		`"toolsets": {"web": {"exclude": ["files__*"]}}`:                                   `toolsets.web: the toolset names neither servers nor tools`,
		`"toolsets": {"web": {"tools": ["read_*"]}}`:                                       `toolsets.web.tools[0]: it does not read SERVER__TOOL; write the name of a server, "__" and a pattern of its tools`,
		`"toolsets": {"web": {"tools": ["__read"]}}`:                                       `toolsets.web.tools[0]: it does not read SERVER__TOOL`,
		`"toolsets": {"web": {"servers": ["files"], "exclude": ["gti__*"]}}`:               `toolsets.web.exclude[0]: there is no server "gti"; did you mean "git"?`,
		`"toolsets": {"web": {"tools": ["x*__read"]}}`:                                     `toolsets.web.tools[0]: no server is called like "x*"; the servers are files, git`,
		`"toolsets": {"a/b": {"servers": ["files"]}}`:                                      `is no name of a toolset`,
		`"toolsets": {"..": {"servers": ["files"]}}`:                                       `is no name of a toolset`,
		`"toolsets": {"web": {"server": ["files"]}}`:                                       `did you mean "servers"?`,
		`"clients": {"codex": ["web"]}`:                                                    `clients.codex[0]: there is no toolset "web"; define it under "toolsets"`,
		web + `"clients": {"codex": []}`:                                                   `clients.codex: `,
		web + `"projects": {"~/shop": ["wbe"]}`:                                            `projects["~/shop"][0]: there is no toolset "wbe"; did you mean "web"?`,
		web + `"http": {"tokens": [{"name": "a", "env": "A", "toolsets": ["web", "wb"]}]}`: `http.tokens[0].toolsets[1]: there is no toolset "wb"; did you mean "web"?`,
		web + issuer + `["bew"]}}}]}`:                                                      `http.issuers[0].toolsets.values.a[0]: there is no toolset "bew"`,
	} {
		_, problems, err := Parse("hub.json", []byte("{"+servers+"\n"+text+"}"), nil)
		said := ""
		for _, p := range problems {
			if p.Severity == SeverityError {
				said += p.String() + "\n"
			}
		}
		if want == "" && (err != nil || said != "") {
			t.Errorf("%s: %v %s", text, err, said)
		}
		if want != "" && (err == nil || !strings.Contains(said, "hub.json:2:") || !strings.Contains(said, want)) {
			t.Errorf("%s: want %q, got %v: %s", text, want, err, said)
		}
	}
}
