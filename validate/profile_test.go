package validate

import (
	"strings"
	"testing"

	"mcphub/validate/access"
)

func TestProfilesLoad(t *testing.T) {
	list, err := loadProfiles()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, p := range list {
		if len(p.Match.Servers)+len(p.Match.Packages)+len(p.Match.Commands) == 0 {
			t.Errorf("%s matches nothing", p.Name)
		}
		for _, names := range [][]string{p.Match.Servers, p.Match.Packages, p.Match.Commands} {
			for _, n := range names {
				key := strings.ToLower(n)
				if other := seen[key]; other != "" && other != p.Name {
					t.Errorf("%s and %s both claim %q", p.Name, other, n)
				}
				seen[key] = p.Name
			}
		}
	}
	// One profile for every server of the table.
	for _, r := range rows {
		if r.server != "" && profileByServer(r.server) == nil {
			t.Errorf("row %d: no profile for %s", r.n, r.server)
		}
	}
}

func TestBadProfiles(t *testing.T) {
	for name, raw := range map[string]string{
		"not JSON": `{`, "unknown member": `{"match":{},"x":1}`, "bad role": `{"match":{},"tools":{"a":{"/x":"maybe"}}}`,
		"bad pointer": `{"match":{},"tools":{"a":{"x":"read"}}}`, "bad base": `{"match":{},"tools":{"a":{"/x":{"role":"read","base":"y"}}}}`,
		"bad mode": `{"match":{},"mode":"loose"}`, "no match": `{}`,
		"bad rewrite": `{"match":{},"rewrite":["file-uri","real"]}`, "rewrite by argument": `{"match":{},"rewrite":{"*":{"/path":"file-uri"}}}`,
	} {
		if _, err := parseProfile("x", []byte(raw)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestProfileFor(t *testing.T) {
	for _, e := range []struct{ server, command, args, want string }{
		{"", "npx", "-y @modelcontextprotocol/server-filesystem /home/u", "filesystem"},
		{"", "npx", "-y @modelcontextprotocol/server-filesystem@2026.8.31 --read-only", "filesystem"},
		{"", "npx", "--prefix /tmp/x --yes -p @modelcontextprotocol/server-filesystem mcp-server-filesystem", "filesystem"},
		{"", "npx", "--package=@playwright/mcp@latest playwright-mcp", "playwright"},
		{"", "bunx", "@playwright/mcp@latest", "playwright"},
		{"", "pnpm", "dlx @upstash/context7-mcp", "context7"},
		{"", "npx", "-y mcp-ripgrep@latest", "ripgrep"},
		{"", "uvx", "mcp-server-git --repository /x", "git"},
		{"", "uvx", "mcp-server-git==2025.1", "git"},
		{"", "uvx", "--from mcp-server-git[extra]>=1 other", "git"},
		{"", "uv", "tool run mcp-server-fetch", "fetch"},
		{"", "python3", "-m mcp-server-git", "git"},
		{"", "/usr/local/bin/mcp-server-filesystem", "/x", "filesystem"},
		{"", `C:\bin\mcp-server-filesystem.exe`, "", "filesystem"},
		{"", "node", "/x/node_modules/@modelcontextprotocol/server-memory/dist/index.js", "memory"},
		{"", "node", "/x/filesystem-server.js", "filesystem"},
		{"", "docker", "run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server", "github"},
		{"", "docker", "run -i --rm mcp/filesystem:latest /x", "filesystem"},
		{"Context7", "", "", "context7"},
		{"context7", "my-own", "", "context7"},
		{"memory-server", "npx", "-y @modelcontextprotocol/server-filesystem", "filesystem"},
		// A directory is data, whatever it is called.
		{"", "npx", "-y some-server /home/u/mcp-server-git", ""},
		{"", "some-server", "mcp-server-git", ""},
		{"", "node", "/x/server.js mcp-server-memory", ""},
		{"", "", "", ""},
	} {
		info, ok := ProfileFor(e.server, e.command, strings.Fields(e.args))
		if info.Name != e.want || ok != (e.want != "") {
			t.Errorf("%q %s %s: %q, want %q", e.server, e.command, e.args, info.Name, e.want)
		}
		if (info.RootsProbe == "list_allowed_directories") != (e.want == "filesystem") {
			t.Errorf("%s: probe %q", e.want, info.RootsProbe)
		}
	}
}

func TestClassOf(t *testing.T) {
	for key, want := range map[string]keyClass{
		"path": keyPath, "Path": keyPath, "PATH": keyPath, "filePath": keyPath, "file_path": keyPath, "file-path": keyPath, "filepaths": keyPath,
		"logfile": keyPath, "outdir": keyPath, "fileAbsolutePath": keyPath, "XMLPath": keyPath, "path2": keyPath, "projectRoot": keyPath,
		"workingDirectory": keyPath, "cwd": keyPath, "destination": keyPath, "srcSheetName": keyPath, "files": keyPath, "folderName": keyPath,
		"source": keySource, "image_src": keySource, "cell_source": keySource, "ſource": keySource, "PATH_LIST": keyPath, "input.file.path": keyPath,
		"profile": keyOther, "profiles": keyOther, "direction": keyOther, "resource": keyOther, "resources": keyOther, "fileKey": keyOther,
		"root_cause": keyOther, "fileId": keyOther, "oldest": keyOther, "fileType": keyOther, "filePattern": keyOther, "sourceUrl": keyOther,
		"": keyOther, "123": keyOther, "x": keyOther, "target": keyOther, "filenameSuffix": keyOther, "topFilesLength": keyOther,
		"file_text": keyContent, "file_content": keyContent, "fileContents": keyContent, "content": keyContent, "oldText": keyContent, "newText": keyContent,
		"commit_message": keyContent, "observations": keyContent, "thought": keyContent, "xpath": keyContent, "old_string": keyContent, "sourceCode": keyContent,
		"query": keyQuery, "sqlQuery": keyQuery, "command": keyShell, "shell_command": keyShell, "cmd": keyShell, "script": keyShell, "initScript": keyShell,
		"sql": keyQuery, "args": keyWords, "argv": keyWords, "extra_flags": keyWords, "scriptPath": keyPath, "sql_file": keyPath, "commandFile": keyPath,
	} {
		if got := classOf(key); got != want {
			t.Errorf("%q: class %d, want %d", key, got, want)
		}
	}
}

func TestTraits(t *testing.T) {
	for _, e := range []struct {
		tool                  string
		readOnly, destructive bool
		key                   string
		want                  access.Role
	}{
		{"read_file", false, false, "path", access.Read},
		{"getFileInfo", false, false, "path", access.Read},
		{"frobnicate", false, false, "path", access.Write},
		{"frobnicate", true, false, "path", access.Read},
		{"frobnicate", true, true, "path", access.Write},
		{"frobnicate", true, false, "outputPath", access.Write},
		{"delete_file", true, false, "path", access.Delete},
		{"find_and_replace", true, false, "path", access.Write},
		{"move_file", false, false, "source", access.Delete},
		{"move_file", false, false, "destination", access.Write},
		{"rename", false, false, "from", access.Delete},
		{"rename", false, false, "to", access.Write},
		{"copy_file", false, false, "source", access.Read},
		{"copy_file", false, false, "destination", access.Write},
	} {
		var b keyBuffer
		if got := traitsOf(e.tool, e.readOnly, e.destructive).roleOf(&b, e.key); got != e.want {
			t.Errorf("%s %v %v %s: %v, want %v", e.tool, e.readOnly, e.destructive, e.key, got, e.want)
		}
	}
}
