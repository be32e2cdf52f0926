package servers

// note is what keep.py and its like find, and the calls that read it and write another.
var (
	getNote = act{"get", `{"note":"a.md"}`, "alpha", false}
	putNote = act{"put", `{"note":"b.md","text":"beta"}`, "kept", false}
)

// kept returns an entry of one of the small servers, whose notes are in a folder.
func kept(e configured, notes string) configured {
	e.read, e.write = getNote, putNote
	e.leaves = map[string]string{notes + "/b.md": "beta"}
	if e.files == nil {
		e.files = map[string]string{}
	}
	e.files[notes+"/a.md"] = "alpha\n"
	return e
}

// inPython adds the program of a small server to what is there before.
func inPython(e configured, folder string) configured {
	e.server = "keep.py"
	e.files[folder+"/keep.py"], e.files[folder+"/wire.py"] = "@keep.py", "@wire.py"
	return e
}

// shapeEntries are entries of each shape in which people write them. If the server is one of ours, the interpreter is the
// real one of the system, and what a manager of versions lays out is laid out as it does.
var shapeEntries = []configured{
	// How a path is named.
	inPython(kept(configured{name: "a directory", from: "an argument", quick: true,
		hub: obj{"command": "python3", "args": []string{"{home}/srv/keep.py", "{home}/Notes"}}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "after a flag", from: "--notes PATH",
		hub: obj{"command": "/usr/bin/python3", "args": []string{"{home}/srv/keep.py", "--notes", "{home}/Notes"}}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "after =", from: "--notes=PATH", quick: true,
		hub: obj{"command": "/usr/bin/python3", "args": []string{"{home}/srv/keep.py", "--notes={home}/Notes"}}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "tilde", from: "--notes=~/Notes, which the server expands",
		hub: obj{"command": "/usr/bin/python3", "args": []string{"{home}/srv/keep.py", "--notes=~/Notes"}}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "a variable", from: "env", quick: true,
		hub: obj{"command": "/usr/bin/python3", "args": []string{"{home}/srv/keep.py"}, "env": obj{"KEEP": "{home}/Notes"}}}, "{home}/Notes"), "{home}/srv"),
	{name: "a new file", from: "--log=FILE in a folder made for it", server: "keep.py", quick: true,
		files: map[string]string{"{home}/srv/keep.py": "@keep.py", "{home}/srv/wire.py": "@wire.py", "{home}/logs/keep/": ""},
		hub:   obj{"command": "/usr/bin/python3", "args": []string{"{home}/srv/keep.py", "--log={home}/logs/keep/new.log"}},
		read:  act{"get", `{"note":""}`, "No such file", true}, write: act{"put", `{"note":"","text":"beta"}`, "kept", false}, leaves: map[string]string{"{home}/logs/keep/new.log": "beta"}},
	{name: "a file", from: "a file that is there", server: "keep.py",
		files: map[string]string{"{home}/srv/keep.py": "@keep.py", "{home}/srv/wire.py": "@wire.py", "{home}/lists/todo.txt": "alpha\n", "{home}/lists/private.txt": "x"},
		hub:   obj{"command": "/usr/bin/python3", "args": []string{"{home}/srv/keep.py", "--file", "{home}/lists/todo.txt"}},
		read:  act{"get", `{"note":""}`, "alpha", false}, write: act{"put", `{"note":"","text":"beta"}`, "kept", false}, leaves: map[string]string{"{home}/lists/todo.txt": "beta"}},
	{name: "a directory of another server", from: "README of @modelcontextprotocol/server-memory, in a client that sets variables by env", server: "@modelcontextprotocol/server-memory", real: true,
		files:  map[string]string{"{home}/memory/memory.jsonl": `{"type":"entity","name":"Ada","entityType":"person","observations":["reads"]}` + "\n"},
		hub:    obj{"command": "env", "args": []string{"MEMORY_FILE_PATH={home}/memory/memory.jsonl", "{npm}/.bin/mcp-server-memory"}},
		read:   act{"read_graph", `{}`, "Ada", false},
		write:  act{"create_entities", `{"entities":[{"name":"Bob","entityType":"person","observations":["writes"]}]}`, "Bob", false},
		leaves: map[string]string{"{home}/memory/memory.jsonl": "Bob"}},
	{name: "SQLite by =", from: "--db-path=FILE in a folder of its own, with SQLite's journal", server: "sqlite.py", quick: true,
		files: map[string]string{"{home}/srv/sqlite.py": "@sqlite.py", "{home}/srv/wire.py": "@wire.py"},
		lay:   func(d *desk) { d.database("{home}/data/shop.db") },
		hub:   obj{"command": "python3", "args": []string{"{home}/srv/sqlite.py", "--db-path={home}/data/shop.db"}},
		read:  act{"read_query", `{"query":"SELECT name FROM users"}`, "ada", false}, write: act{"write_query", `{"query":"INSERT INTO users VALUES (3, 'eve')"}`, "done", false},
		leaves: map[string]string{"{home}/data/shop.db": "eve"}},
	{name: "SQLite with write-ahead log", from: "--dsn=sqlite:///FILE", server: "@bytebase/dbhub", real: true,
		lay:  func(d *desk) { d.database("{home}/data/shop.db", "PRAGMA journal_mode=WAL") },
		hub:  obj{"command": "node", "args": []string{"{servers}/.bin/dbhub", "--transport=stdio", "--dsn=sqlite://{home}/data/shop.db"}},
		read: act{"execute_sql", `{"sql":"SELECT name FROM users"}`, "ada", false}, write: act{"execute_sql", `{"sql":"INSERT INTO users VALUES (3, 'eve')"}`, "success", false}},
	{name: "a configuration file", closed: true, from: "--config=FILE that names more", server: "@bytebase/dbhub", real: true,
		files: map[string]string{"{home}/.config/dbhub/dbhub.toml": "[[sources]]\nid = \"shop\"\ndsn = \"sqlite://{home}/data/shop.db\"\n"},
		lay:   func(d *desk) { d.database("{home}/data/shop.db") },
		hub:   obj{"command": "{servers}/.bin/dbhub", "args": []string{"--transport=stdio", "--config={home}/.config/dbhub/dbhub.toml"}},
		read:  act{"execute_sql", `{"sql":"SELECT name FROM users"}`, "ada", false}, write: act{"execute_sql", `{"sql":"INSERT INTO users VALUES (3, 'eve')"}`, "success", false},
		leaves: map[string]string{"{home}/data/shop.db": "eve"}},

	// Shells and scripts.
	inPython(kept(configured{name: "bash -c", from: `bash -c "cd ~/srv && exec python3 server.py"`, quick: true,
		hub: obj{"command": "bash", "args": []string{"-c", "cd {home}/srv && exec python3 keep.py {home}/Notes"}}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "sh -c with a log", from: `sh -c "... 2>>LOG"`,
		hub: obj{"command": "sh", "args": []string{"-c", "exec python3 ~/srv/keep.py {home}/Notes 2>>{home}/logs/keep/err.log"}}}, "{home}/Notes"), "{home}/srv").with("{home}/logs/keep/", ""),
	inPython(kept(configured{name: "a script in ~/bin", from: "a script that starts a program elsewhere", quick: true,
		files: map[string]string{"{home}/bin/notes": "#!/bin/bash\nexec python3 {home}/srv/keep.py {home}/Notes\n"},
		hub:   obj{"command": "{home}/bin/notes", "args": []string{}}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "data beside its program", closed: true, from: "run.sh of a checkout, which keeps its notes there",
		files: map[string]string{"{home}/code/notes/run.sh": "#!/bin/sh\ncd \"$(dirname \"$0\")\" && exec python3 src/keep.py notes\n"},
		hub:   obj{"command": "{home}/code/notes/run.sh", "args": []string{}}}, "{home}/code/notes/notes"), "{home}/code/notes/src"),
	inPython(kept(configured{name: "a working directory", from: "cwd with python3 -m", quick: true,
		hub: obj{"command": "python3", "args": []string{"-m", "keep", "{home}/Notes"}, "cwd": "{home}/srv"}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "data in the working directory", from: "cwd",
		hub: obj{"command": "python3", "args": []string{"{home}/srv/keep.py", "notes"}, "cwd": "{home}/garden"}}, "{home}/garden/notes"), "{home}/srv"),
	inPython(kept(configured{name: "PYTHONPATH", from: "a folder of modules",
		files: map[string]string{"{home}/bin/keep": "#!/usr/bin/python3\nimport keep\nkeep.main()\n"},
		hub:   obj{"command": "{home}/bin/keep", "args": []string{"{home}/Notes"}, "env": obj{"PYTHONPATH": "{home}/lib/python"}}}, "{home}/Notes"), "{home}/lib/python"),
	kept(configured{name: "node --env-file", closed: true, from: "a file of variables that the entry names", server: "keep.mjs", quick: true,
		files: map[string]string{"{home}/srv/keep.mjs": "@keep.mjs", "{home}/srv/.env": "KEEP={home}/Notes\n"},
		hub:   obj{"command": "node", "args": []string{"--env-file={home}/srv/.env", "{home}/srv/keep.mjs"}}}, "{home}/Notes"),

	// Pythons.
	inPython(kept(configured{name: "a virtual environment", from: "VENV/bin/python server.py", quick: true,
		lay: func(d *desk) { d.run("{home}/srv", "/usr/bin/python3", "-m", "venv", "--without-pip", ".venv") },
		hub: obj{"command": "{home}/srv/.venv/bin/python", "args": []string{"{home}/srv/keep.py", "{home}/Notes"}}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "a venv of another Python", from: "VENV whose Python lies in ~/opt",
		lay: func(d *desk) {
			d.python("{home}/opt/python")
			d.run("{home}/srv", "{home}/opt/python/bin/python3", "-m", "venv", "--without-pip", ".venv")
		},
		hub: obj{"command": "{home}/srv/.venv/bin/python", "args": []string{"{home}/srv/keep.py", "{home}/Notes"}}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "conda", from: "~/miniconda3/envs/NAME/bin/python",
		files: map[string]string{"{home}/miniconda3/envs/mcp/conda-meta/history": ""},
		lay:   func(d *desk) { d.python("{home}/miniconda3/envs/mcp") },
		hub:   obj{"command": "{home}/miniconda3/envs/mcp/bin/python", "args": []string{"{home}/srv/keep.py", "{home}/Notes"}}}, "{home}/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "pyenv", from: "~/.pyenv/shims/python3",
		files: map[string]string{"{home}/.pyenv/version": "3.11\n",
			"{home}/.pyenv/shims/python3": "#!/usr/bin/env bash\nset -e\nexport PYENV_ROOT=\"{home}/.pyenv\"\nexec \"{home}/.pyenv/libexec/pyenv\" exec \"${0##*/}\" \"$@\"\n",
			"{home}/.pyenv/libexec/pyenv": "#!/usr/bin/env bash\nshift\nprogram=$1\nshift\nexec \"$PYENV_ROOT/versions/$(cat \"$PYENV_ROOT/version\")/bin/$program\" \"$@\"\n"},
		lay: func(d *desk) { d.python("{home}/.pyenv/versions/3.11") },
		hub: obj{"command": "{home}/.pyenv/shims/python3", "args": []string{"{home}/srv/keep.py", "{home}/Notes"}}}, "{home}/Notes"), "{home}/srv"),

	// Nodes.
	{name: "nvm", from: "~/.nvm/versions/node/V/bin/SERVER", server: "@modelcontextprotocol/server-memory", real: true,
		files: map[string]string{"{home}/memory/memory.jsonl": `{"type":"entity","name":"Ada","entityType":"person","observations":["reads"]}` + "\n"},
		lay: func(d *desk) {
			d.nodeAt("{home}/.nvm/versions/node/v24.21.0")
			d.globally("{home}/.nvm/versions/node/v24.21.0", "{npm}", "@modelcontextprotocol/server-memory", "mcp-server-memory")
		},
		hub: obj{"command": "{home}/.nvm/versions/node/v24.21.0/bin/mcp-server-memory", "args": []string{},
			"env": obj{"MEMORY_FILE_PATH": "{home}/memory/memory.jsonl", "PATH": "{home}/.nvm/versions/node/v24.21.0/bin:/usr/bin:/bin"}},
		read: act{"read_graph", `{}`, "Ada", false}, write: act{"create_entities", `{"entities":[{"name":"Bob","entityType":"person","observations":["writes"]}]}`, "Bob", false},
		leaves: map[string]string{"{home}/memory/memory.jsonl": "Bob"}},
	{name: "npm prefix", from: "npm install -g with a prefix of the user's own", server: "obsidian-mcp", real: true,
		files: map[string]string{"{home}/Documents/Vault/.obsidian/": "", "{home}/Documents/Vault/daily.md": "water the plants\n"},
		lay:   func(d *desk) { d.globally("{home}/.npm-global", "{everyday}", "obsidian-mcp", "obsidian-mcp") },
		hub:   obj{"command": "{home}/.npm-global/bin/obsidian-mcp", "args": []string{"serve", "--vault", "notes={home}/Documents/Vault"}},
		read:  act{"obsidian_read_note", `{"vault":"notes","path":"daily.md"}`, "water the plants", false},
		write: act{"obsidian_create_note", `{"vault":"notes","path":"new.md","content":"from the model"}`, "succeeded", false}, leaves: map[string]string{"{home}/Documents/Vault/new.md": "from the model"}},
	kept(configured{name: "mise", from: "~/.local/share/mise/shims/node, which reads ~/.config/mise/config.toml", server: "keep.mjs",
		files: map[string]string{"{home}/srv/keep.mjs": "@keep.mjs", "{home}/.config/mise/config.toml": "[tools]\nnode = \"24.21.0\"\n",
			"{home}/.local/bin/mise": "#!/bin/sh\n# As a shim: the version of the settings.\nversion=$(sed -n 's/^node = \"\\(.*\\)\"/\\1/p' \"$HOME/.config/mise/config.toml\") || exit 1\nexec \"$HOME/.local/share/mise/installs/node/${version:?no settings}/bin/${0##*/}\" \"$@\"\n"},
		lay: func(d *desk) {
			d.nodeAt("{home}/.local/share/mise/installs/node/24.21.0")
			d.link("{home}/.local/bin/mise", "{home}/.local/share/mise/shims/node")
		},
		hub: obj{"command": "{home}/.local/share/mise/shims/node", "args": []string{"{home}/srv/keep.mjs", "{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "asdf", from: "~/.asdf/shims/node, which reads ~/.tool-versions", server: "keep.mjs",
		files: map[string]string{"{home}/srv/keep.mjs": "@keep.mjs", "{home}/.tool-versions": "nodejs 24.21.0\n",
			"{home}/.asdf/shims/node": "#!/usr/bin/env bash\n# asdf-plugin: nodejs 24.21.0\nexec {home}/.asdf/bin/asdf exec \"node\" \"$@\"\n",
			"{home}/.asdf/bin/asdf":   "#!/usr/bin/env bash\nshift\nprogram=$1\nshift\nversion=$(sed -n 's/^nodejs //p' \"$HOME/.tool-versions\") || exit 126\n[ -n \"$version\" ] || { echo \"No version is set for command $program\" >&2; exit 126; }\nexec \"$HOME/.asdf/installs/nodejs/$version/bin/$program\" \"$@\"\n"},
		lay: func(d *desk) { d.nodeAt("{home}/.asdf/installs/nodejs/24.21.0") },
		hub: obj{"command": "{home}/.asdf/shims/node", "args": []string{"{home}/srv/keep.mjs", "{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "npm link", from: "npm link in a checkout", server: "keep.mjs", quick: true,
		files: map[string]string{"{home}/code/notes/package.json": `{"name":"notes","version":"1.0.0","type":"module","bin":"cli.js"}`,
			"{home}/code/notes/cli.js": "#!/usr/bin/env node\nimport './src/keep.mjs'\n", "{home}/code/notes/src/keep.mjs": "@keep.mjs"},
		lay: func(d *desk) {
			d.link("../../../code/notes", "{home}/.npm-global/lib/node_modules/notes")
			d.link("../lib/node_modules/notes/cli.js", "{home}/.npm-global/bin/notes")
		},
		hub: obj{"command": "{home}/.npm-global/bin/notes", "args": []string{"{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "a linked module", from: "npm link MODULE: node_modules/MODULE leads to another checkout", server: "keep.mjs",
		files: map[string]string{"{home}/code/notes/package.json": `{"name":"notes","version":"1.0.0","type":"module"}`, "{home}/code/notes/index.js": "import 'keeping'\n",
			"{home}/code/keeping/package.json": `{"name":"keeping","version":"1.0.0","main":"keep.mjs"}`, "{home}/code/keeping/keep.mjs": "@keep.mjs"},
		lay: func(d *desk) { d.link("../../keeping", "{home}/code/notes/node_modules/keeping") },
		hub: obj{"command": "node", "args": []string{"{home}/code/notes/index.js", "{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "workspaces", from: "a package of npm workspaces that uses another", server: "keep.mjs",
		files: map[string]string{"{home}/code/mono/package.json": `{"name":"mono","private":true,"workspaces":["packages/*"]}`,
			"{home}/code/mono/packages/server/package.json": `{"name":"@mono/server","version":"1.0.0","type":"module"}`, "{home}/code/mono/packages/server/index.js": "import '@mono/keep'\n",
			"{home}/code/mono/packages/keep/package.json": `{"name":"@mono/keep","version":"1.0.0","main":"keep.mjs"}`, "{home}/code/mono/packages/keep/keep.mjs": "@keep.mjs"},
		lay: func(d *desk) {
			d.link("../../packages/keep", "{home}/code/mono/node_modules/@mono/keep")
			d.link("../../packages/server", "{home}/code/mono/node_modules/@mono/server")
		},
		hub: obj{"command": "node", "args": []string{"{home}/code/mono/packages/server/index.js", "{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "npm start", from: "npm --prefix DIR start", server: "keep.mjs", needs: []string{"npm"},
		files: map[string]string{"{home}/code/notes/package.json": `{"name":"notes","version":"1.0.0","scripts":{"start":"node keep.mjs"}}`, "{home}/code/notes/keep.mjs": "@keep.mjs"},
		hub:   obj{"command": "npm", "args": []string{"--silent", "--prefix", "{home}/code/notes", "start", "--", "{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "tsx", from: "npx tsx server.ts, installed in its checkout", server: "keep.ts",
		files: map[string]string{"{home}/code/notes/package.json": `{"name":"notes","version":"1.0.0","type":"module"}`, "{home}/code/notes/keep.ts": "@keep.ts"},
		lay: func(d *desk) {
			d.modules("{home}/code/notes/node_modules", "{everyday}", "tsx", "tsx", "esbuild", "@esbuild/linux-x64")
		},
		hub: obj{"command": "{home}/code/notes/node_modules/.bin/tsx", "args": []string{"{home}/code/notes/keep.ts", "{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "ts-node", from: "ts-node server.ts, installed in its checkout", server: "keep.ts",
		files: map[string]string{"{home}/code/notes/package.json": `{"name":"notes","version":"1.0.0"}`, "{home}/code/notes/keep.ts": "@keep.ts",
			"{home}/code/notes/tsconfig.json": `{"compilerOptions":{"module":"commonjs","target":"es2022","strict":true,"esModuleInterop":true,"types":[]},"ts-node":{"transpileOnly":true}}`},
		lay: func(d *desk) {
			d.modules("{home}/code/notes/node_modules", "{everyday}", "ts-node", "ts-node", "typescript")
		},
		hub: obj{"command": "{home}/code/notes/node_modules/.bin/ts-node", "args": []string{"--project", "{home}/code/notes/tsconfig.json", "{home}/code/notes/keep.ts", "{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "deno", from: "deno run --allow-read=DIR server.ts", server: "keep.ts",
		files: map[string]string{"{home}/srv/keep.ts": "@keep.ts"},
		hub:   obj{"command": "{everyday}/.bin/deno", "args": []string{"run", "--no-prompt", "--allow-read={home}/Notes", "--allow-write={home}/Notes", "{home}/srv/keep.ts", "{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "bun", from: "bun run server.ts", server: "keep.ts",
		files: map[string]string{"{home}/srv/keep.ts": "@keep.ts", "{home}/srv/package.json": `{"name":"notes","type":"module"}`},
		hub:   obj{"command": "{everyday}/@oven/bun-linux-x64/bin/bun", "args": []string{"run", "{home}/srv/keep.ts", "{home}/Notes"}}}, "{home}/Notes"),

	// Other languages.
	kept(configured{name: "java", from: "java -jar, with TLS", server: "Keep.java", quick: true, needs: []string{"java", "javac", "jar"},
		lay: func(d *desk) {
			d.run("{dir}", "install", "-D", "-m644", prebuilt(d.T, "notes.jar"), "{home}/tools/notes.jar")
		},
		hub: obj{"command": "java", "args": []string{"-jar", "{home}/tools/notes.jar", "--notes", "{home}/Notes"}}}, "{home}/Notes"),
	kept(configured{name: "ruby", from: "ruby -I LIB server.rb", server: "keep.rb", quick: true, needs: []string{"ruby"},
		files: map[string]string{"{home}/code/notes/bin/keep.rb": "@ruby/keep.rb", "{home}/code/notes/lib/wire.rb": "@ruby/lib/wire.rb"},
		hub:   obj{"command": "ruby", "args": []string{"-I", "{home}/code/notes/lib", "{home}/code/notes/bin/keep.rb", "{home}/Notes"}}}, "{home}/Notes"),
	{name: "a program of Go", from: "README of github.com/modelcontextprotocol/go-sdk, examples/server/memory: SERVER -memory FILE", server: "github.com/modelcontextprotocol/go-sdk", real: true,
		files: map[string]string{"{home}/memory/kb.json": "[]"},
		lay:   func(d *desk) { d.run("{dir}", "install", "-D", prebuilt(d.T, "go-memory"), "{home}/go/bin/memory") },
		hub:   obj{"command": "{home}/go/bin/memory", "args": []string{"-memory", "{home}/memory/kb.json"}},
		read:  act{"read_graph", `{}`, "", false}, write: act{"create_entities", `{"entities":[{"name":"Bob","entityType":"person","observations":["writes"]}]}`, "created", false},
		leaves: map[string]string{"{home}/memory/kb.json": "Bob"}},
	{name: "gopls", from: "documents of gopls: gopls mcp", server: "golang.org/x/tools/gopls", real: true, needs: []string{"go"},
		files: map[string]string{"{project}/go.mod": "module shop.example\n\ngo 1.24\n", "{project}/main.go": "package main\n\nfunc Total() int { return 1 }\n\nfunc main() { Total() }\n"},
		lay:   func(d *desk) { d.run("{dir}", "install", "-D", prebuilt(d.T, "gopls"), "{home}/go/bin/gopls") },
		hub:   obj{"command": "{home}/go/bin/gopls", "args": []string{"mcp"}, "env": obj{"PATH": "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"}},
		read:  act{"go_search", `{"query":"Total"}`, "Total", false}, write: act{"go_workspace", `{}`, "shop.example", false}},

	// Repositories.
	{name: "a worktree", from: "git worktree as the root, and the server of git", server: "@cyanheads/git-mcp-server", real: true, open: []string{"{home}/code/shop-fix"},
		lay: func(d *desk) {
			d.repository("{home}/code/shop")
			d.run("{home}/code/shop", "git", "worktree", "add", "-q", "../shop-fix")
			d.run("{home}/code/shop-fix", "sh", "-c", "echo more >> a.txt")
		},
		hub:  obj{"command": "{servers}/.bin/git-mcp-server", "args": []string{}, "env": obj{"GIT_SIGN_COMMITS": "false", "MCP_LOG_LEVEL": "error"}},
		read: act{"git_log", `{"path":"{home}/code/shop-fix"}`, "begin", false}, write: act{"git_commit", `{"path":"{home}/code/shop-fix","message":"fix","filesToStage":["a.txt"]}`, "fix", false},
		leaves: map[string]string{"{home}/code/shop/.git/logs/refs/heads/shop-fix": "fix"}},
	{name: "git in a worktree", from: "git worktree as the root, and a server that runs git", server: "git.py", quick: true, open: []string{"{home}/code/shop-fix"},
		files: map[string]string{"{home}/srv/git.py": "@git.py", "{home}/srv/wire.py": "@wire.py"},
		lay: func(d *desk) {
			d.repository("{home}/code/shop")
			d.run("{home}/code/shop", "git", "worktree", "add", "-q", "../shop-fix")
			d.run("{home}/code/shop-fix", "sh", "-c", "echo more >> a.txt")
		},
		hub:  obj{"command": "python3", "args": []string{"{home}/srv/git.py"}},
		read: act{"git_log", `{"repo_path":"{home}/code/shop-fix"}`, "begin", false}, write: act{"git_commit", `{"repo_path":"{home}/code/shop-fix","message":"fix"}`, "committed", false},
		leaves: map[string]string{"{home}/code/shop/.git/logs/refs/heads/shop-fix": "fix"}},
	{name: "a submodule", closed: true, from: "a submodule as the root, and a commit in it", server: "git.py", open: []string{"{home}/code/shop/lib"},
		files: map[string]string{"{home}/srv/git.py": "@git.py", "{home}/srv/wire.py": "@wire.py"},
		lay: func(d *desk) {
			d.repository("{home}/code/lib")
			d.repository("{home}/code/shop")
			d.run("{home}/code/shop", "git", "-c", "protocol.file.allow=always", "submodule", "-q", "add", "{home}/code/lib", "lib")
			d.run("{home}/code/shop/lib", "sh", "-c", "echo more >> a.txt")
		},
		hub:  obj{"command": "python3", "args": []string{"{home}/srv/git.py"}},
		read: act{"git_log", `{"repo_path":"{home}/code/shop/lib"}`, "begin", false}, write: act{"git_commit", `{"repo_path":"{home}/code/shop/lib","message":"fix"}`, "committed", false},
		leaves: map[string]string{"{home}/code/shop/.git/modules/lib/logs/HEAD": "fix"}},
	{name: "a folder of a monorepo", from: "a folder of a repository as the root, and the server of git", server: "@cyanheads/git-mcp-server", real: true, open: []string{"{home}/code/shop/web"},
		files: map[string]string{"{home}/code/shop/web/index.html": "<p>hello\n"},
		lay:   func(d *desk) { d.repository("{home}/code/shop") },
		hub:   obj{"command": "{servers}/.bin/git-mcp-server", "args": []string{}, "env": obj{"GIT_SIGN_COMMITS": "false", "MCP_LOG_LEVEL": "error"}},
		read:  act{"git_log", `{"path":"{home}/code/shop/web"}`, "begin", false}, write: act{"git_show", `{"path":"{home}/code/shop/web","object":"HEAD"}`, "begin", false}},
	{name: "a commit in a monorepo", from: "a folder of a repository as the root, and a commit of it", server: "@cyanheads/git-mcp-server", real: true, open: []string{"{home}/code/shop/web"},
		files: map[string]string{"{home}/code/shop/web/index.html": "<p>hello\n"},
		lay: func(d *desk) {
			d.repository("{home}/code/shop")
			d.run("{home}/code/shop/web", "sh", "-c", "echo more >> index.html")
		},
		hub:  obj{"command": "{servers}/.bin/git-mcp-server", "args": []string{}, "env": obj{"GIT_SIGN_COMMITS": "false", "MCP_LOG_LEVEL": "error"}},
		read: act{"git_log", `{"path":"{home}/code/shop/web"}`, "begin", false}, write: act{"git_commit", `{"path":"{home}/code/shop/web","message":"fix","filesToStage":["index.html"]}`, "fix", false},
		leaves: map[string]string{"{home}/code/shop/.git/logs/HEAD": "fix"}},

	// Homes.
	kept(configured{name: "dotfiles by link", from: "~/.config/notes leads to ~/dotfiles/notes", server: "keep.mjs", quick: true,
		files: map[string]string{"{home}/dotfiles/notes/keep.mjs": "@keep.mjs"},
		lay:   func(d *desk) { d.link("../dotfiles/notes", "{home}/.config/notes") },
		hub:   obj{"command": "node", "args": []string{"{home}/.config/notes/keep.mjs", "{home}/.config/notes/data"}}}, "{home}/dotfiles/notes/data"),
	inPython(kept(configured{name: "notes by link", from: "~/Notes leads to a synchronized folder",
		lay: func(d *desk) { d.link("Sync/Notes", "{home}/Notes") },
		hub: obj{"command": "python3", "args": []string{"{home}/srv/keep.py", "{home}/Notes"}}}, "{home}/Sync/Notes"), "{home}/srv"),
	inPython(kept(configured{name: "blanks and umlauts", from: "a home folder with a full name", quick: true, home: "Jürgen Müller (Büro)",
		hub: obj{"command": "python3", "args": []string{"{home}/Mein Zeug/keep.py", "--notes={home}/Meine Notizen/Größe & Maß"}}}, "{home}/Meine Notizen/Größe & Maß"), "{home}/Mein Zeug"),
	{name: "a vault with blanks", from: "a home folder with a full name, and a vault in it", server: "obsidian-mcp", real: true, home: "Jürgen Müller",
		files: map[string]string{"{home}/My Documents/Obsidian Vault/.obsidian/": "", "{home}/My Documents/Obsidian Vault/daily.md": "water the plants\n"},
		hub:   obj{"command": "{everyday}/.bin/obsidian-mcp", "args": []string{"serve", "--vault", "notes={home}/My Documents/Obsidian Vault"}},
		read:  act{"obsidian_read_note", `{"vault":"notes","path":"daily.md"}`, "water the plants", false},
		write: act{"obsidian_create_note", `{"vault":"notes","path":"new.md","content":"from the model"}`, "succeeded", false}, leaves: map[string]string{"{home}/My Documents/Obsidian Vault/new.md": "from the model"}},
}

// with returns the entry with one more file.
func (e configured) with(name, text string) configured {
	e.files[name] = text
	return e
}
