package operation

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcphub/e2e/needs"
	"mcphub/e2e/trusttest"
	"mcphub/e2e/world"
)

// A command stands in a document in a block, indented or between fences, or fills a cell of a table. A command within a
// sentence is only mentioned; cmd/mcphub holds that the program has it.
var (
	documentFence  = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	documentIndent = regexp.MustCompile(`(?m)(?:^    .*\n|^\n)*^    .*\n`)
	documentTable  = regexp.MustCompile(`(?m)(?:^\|.*\n)+`)
	documentCell   = regexp.MustCompile("(?m)\\| `([^`|]+)` (?:\\||$)")
	documentShell  = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(?:sudo |nice )?(?:mcphub|go|node|npm|apt|rpm|docker|pass|make|git|curl|\.ci/\w+|\$BENCH/\w+)(?: |$)`)
)

// notRun are the commands of the documents that no test can run as they stand, and why.
var notRun = []struct {
	line *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`\$(BENCH|PEERS)\b|\bBENCH=`), "the load harness is no part of this repository"},
	{regexp.MustCompile(`^go |\.ci/| go test `), "it builds or tests this repository, which .ci/run and .ci/long do"},
	{regexp.MustCompile(`e2e/peers`), "it installs other hubs, and takes minutes"},
	{regexp.MustCompile(`^docker run `), "no container runs here; TestTheManifestForKubernetes runs the program in the file system of the image"},
	{regexp.MustCompile(`^(npm|sudo) `), "it installs a package, which packaging/check does with each"},
	{regexp.MustCompile(`^mcphub install \w+ --http --print --config `), "it asks for the hub of docs/team.md, which TestTheTeamPage has"},
	{regexp.MustCompile(`^mcphub auth login`), "it opens the login page of a server on the network; the tests of logins have one"},
	{regexp.MustCompile(`^mcphub (search|add io\.github)`), "it asks a registry on the network; the script registry has one of its own"},
}

// documentStatus is how a command of the documents ends, if that is not 0.
var documentStatus = []struct {
	line   *regexp.Regexp
	status int
	why    string
}{
	{regexp.MustCompile(`^mcphub sessions end`), 5, "no client has such a session"},
	{regexp.MustCompile(`^mcphub explain .*path=/etc/passwd`), 6, "the call would be refused"},
	{regexp.MustCompile(`^mcphub explain --toolset `), 6, "the toolset hides the tool"},
	{regexp.MustCompile(`^mcphub auth (logout|status) `), 5, "nobody has logged in"},
}

// runsOn are the commands that end when a person ends them.
var runsOn = regexp.MustCompile(`^([A-Z_]+=\S+ )*mcphub (serve|console)| --watch$| -[a-z0-9 ]*f( |$)`)

// documentBlocks returns the commands of a page, block by block, and the pieces of hub.json.
func documentBlocks(page string) (commands [][]string, configs []string) {
	take := func(text string) {
		var lines []string
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
			if line = strings.TrimSpace(line); documentShell.MatchString(line) {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			commands = append(commands, lines)
		} else if piece := wholeHubJSON(strings.TrimSpace(text)); piece != "" {
			configs = append(configs, piece)
		}
	}
	for _, m := range documentFence.FindAllStringSubmatch(page, -1) {
		take(m[2])
	}
	page = documentFence.ReplaceAllString(page, "")
	for _, text := range documentIndent.FindAllString(page, -1) {
		take(text)
	}
	for _, text := range documentTable.FindAllString(page, -1) {
		var cells []string
		for _, m := range documentCell.FindAllStringSubmatch(text, -1) {
			if documentShell.MatchString(m[1]) && m[1] != "mcphub" {
				cells = append(cells, m[1])
			}
		}
		take(strings.Join(cells, "\n"))
	}
	return commands, configs
}

// wholeHubJSON returns a piece of hub.json as a whole file, and "" for what is none. A piece may be the inside of the object, or one rule.
func wholeHubJSON(text string) string {
	switch {
	case strings.HasPrefix(text, `"`):
		text = "{" + text + "\n}"
	case !strings.HasPrefix(text, "{"), strings.HasPrefix(text, `{"v":`): // else a line of the record
		return ""
	}
	if regexp.MustCompile(`^{\s*"name"`).MatchString(text) {
		text = `{"policy":{"rules":[` + text + "\n]}}"
	}
	if !strings.Contains(text, `"mcpServers"`) {
		text = `{"mcpServers":{"filesystem":{"builtin":"files"}},` + text[1:]
	}
	return text
}

// documentPages returns the pages whose commands are run. docs/session.md is made by TestSession.
func documentPages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(world.Source("docs", "*.md"))
	world.Must(t, err)
	pages := map[string]string{}
	for _, file := range append(files, world.Source("README.md")) {
		text, err := os.ReadFile(file)
		world.Must(t, err)
		if filepath.Base(file) != "session.md" {
			pages[filepath.Base(file)] = string(text)
		}
	}
	return pages
}

// What installs packages for confined servers is there too: it installs the small server under the name of the package.
const (
	documentUV = `#!/bin/sh
for package; do :; done
top=$UV_TOOL_DIR/$package
mkdir -p "$top/bin" "$top/lib/python3.12/site-packages/$package-1.0.dist-info" "$UV_TOOL_BIN_DIR"
cp "$(dirname "$0")/notes" "$top/bin/$package"
ln -s "$top/bin/$package" "$UV_TOOL_BIN_DIR/$package"
`
	documentNPM = `#!/bin/sh
for package; do :; done
package=${package%@[0-9]*}
mkdir -p node_modules/.bin "node_modules/$package"
echo '{"dependencies":{"'$package'":"1.0.0"}}' >package.json
echo '{"version":"1.0.0","bin":"run"}' >"node_modules/$package/package.json"
cp "$(dirname "$0")/notes" "node_modules/$package/run"
ln -s "$PWD/node_modules/$package/run" "node_modules/.bin/${package##*/}"
`
)

// documentHome returns a home in which the commands of a page can be run: the servers that the pages speak of, two clients with
// servers of their own, and a project. uvx, npx and the servers are one small server under other names.
func documentHome(t *testing.T, without ...string) (w *world.World, project string, env []string) {
	t.Helper()
	w = world.New(t)
	home := w.Path("home", "you")
	project = w.Path("home", "you", "project")
	for name, text := range map[string]string{
		"project/README.md": "# My project\n", "project/src/main.go": "package main\n", "project/notes/real.txt": "a note\n", "project/DIR/.keep": "",
		"project/new.json": `{"mcpServers": {"files": {"builtin": "files"}}}`,
		".cursor/mcp.json": `{"mcpServers": {"todo": {"command": "notes"}}}`, ".codex/config.toml": "[mcp_servers.todo]\ncommand = \"notes\"\n",
		".config/mail/password": "not told",
	} {
		w.Write("home/you/"+name, text)
	}
	world.Must(t, os.Symlink("real.txt", filepath.Join(project, "notes", "link.txt")))
	for _, name := range []string{"new-hub.json", "other.json"} {
		world.Must(t, os.Link(filepath.Join(project, "new.json"), filepath.Join(project, name)))
	}
	servers := obj{"files": obj{"builtin": "files"}}
	for name, entry := range map[string]obj{
		"notes": {"command": "notes"}, "git": {"command": "uvx", "args": []string{"mcp-server-git"}},
		"github": {"command": "npx", "args": []string{"-y", "github"}}, "db": {"command": "npx", "args": []string{"-y", "db"}},
		"linear": {"url": "https://mcp.linear.app/mcp", "disabled": true},
	} {
		if !slices.Contains(without, name) {
			servers[name] = entry
		}
	}
	w.Write("home/you/.config/mcphub/hub.json", world.Raw(t, obj{"mcpServers": servers, "toolsets": obj{"frontend": obj{"servers": []string{"files"}}}}))
	w.Write("home/you/project/hub.json", world.Raw(t, obj{"mcpServers": obj{"files": obj{"builtin": "files"}}, "http": obj{"listen": "127.0.0.1:0"}}))
	for _, name := range []string{"notes", "uvx", "npx", "node", "mail-server", "my-shell-server"} {
		world.Must(t, os.Chmod(w.Write("home/you/bin/"+name, notesServer), 0o700))
	}
	authority := trusttest.New(t)
	w.Write("home/you/.config/mcphub/house-ca.pem", string(authority.PEM()))
	cert, key := authority.Files(w.Path("home", "you", ".config", "mcphub"), authority.Issue("me"))
	for name, file := range map[string]string{"me.pem": cert, "me.key": key} {
		world.Must(t, os.Rename(file, w.Path("home", "you", ".config", "mcphub", name)))
	}
	for name, text := range map[string]string{"intern-token": "#!/bin/sh\necho '{}'\n", "pass": "#!/bin/sh\necho a-password\n", "uv": documentUV, "npm": documentNPM} {
		world.Must(t, os.Chmod(w.Write("home/you/bin/"+name, text), 0o700))
	}
	runtime := world.ShortFolder(t)
	return w, project, []string{"HOME=" + home, "PATH=" + w.Path("home", "you", "bin") + ":" + world.Bin.Dir + ":/usr/bin:/bin", "XDG_RUNTIME_DIR=" + runtime,
		"TMPDIR=" + runtime, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.Path("none"), "LANG=C.UTF-8", "TZ=UTC", "TERM=dumb",
		"GORACE=halt_on_error=1 atexit_sleep_ms=0", "XDG_MCPHUB_E2E=" + w.Dir}
}

// typed runs a command at a terminal, as a person does who agrees to everything that is asked.
func typed(t *testing.T, line, project string, env []string) (said string, status int) {
	t.Helper()
	terminal, side := world.PseudoTerminal(t)
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = project, env, side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	world.Must(t, cmd.Start())
	world.Must(t, side.Close())
	bound := time.AfterFunc(world.WaitLimit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer bound.Stop()
	var out strings.Builder
	buffer := make([]byte, 4096)
	for interrupted := false; ; {
		n, err := terminal.Read(buffer)
		out.Write(buffer[:n])
		if err != nil { // no one has the other side any more
			break
		}
		switch {
		case runsOn.MatchString(line) && !interrupted:
			interrupted = true
			_, err = terminal.Write([]byte{3}) // the interrupt key
		case asks.MatchString(out.String()): // and no part of a line
			answer := "y\n"
			if strings.HasSuffix(out.String(), "(Enter), none, or numbers such as 1,3] ") {
				answer = "\n"
			}
			_, err = terminal.WriteString(answer)
		}
		world.Must(t, err)
	}
	_ = cmd.Wait() // the status tells
	status = cmd.ProcessState.ExitCode()
	if ended := cmd.ProcessState.Sys().(syscall.WaitStatus); ended.Signaled() {
		status = 128 + int(ended.Signal()) // as a shell says it
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), status
}

var (
	asks        = regexp.MustCompile(`[\]?:)] $`)
	addsServer  = regexp.MustCompile(`^mcphub add (\w+)`)
	wantsHub    = regexp.MustCompile(`^mcphub (status|sessions|reload|restart|logs|plan|audit)`)
	placeholder = regexp.MustCompile(`\[?\b(CLIENT|NAME)\b\]?`)
)

// TestDocumentsCommands runs each command of the documents in a home of its own, block by block. The one who copies it gets
// what the page says, or at least no error.
func TestDocumentsCommands(t *testing.T) {
	t.Parallel()
	world.Hub(t)
	ran, left := 0, map[string]int{}
	for page, text := range documentPages(t) {
		blocks, _ := documentBlocks(text)
		for i, lines := range blocks {
			var commands, added []string
			hub := false
			for _, line := range lines {
				if at := slices.IndexFunc(notRun, func(n struct {
					line *regexp.Regexp
					why  string
				}) bool {
					return n.line.MatchString(line)
				}); at >= 0 {
					left[notRun[at].why]++
					continue
				}
				if m := addsServer.FindStringSubmatch(line); m != nil {
					added = append(added, m[1])
				}
				hub = hub || wantsHub.MatchString(line)
				commands = append(commands, line)
			}
			ran += len(commands)
			if len(commands) == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", page, i+1), func(t *testing.T) {
				t.Parallel()
				_, project, env := documentHome(t, added...)
				if hub {
					c := sessionHub(t, project, env)
					t.Cleanup(func() { c.Close(world.WaitLimit) })
					typed(t, "mcphub audit verify >FILE", project, env)
				}
				for _, line := range commands {
					runDocumented(t, line, project, env)
				}
			})
		}
	}
	if ran < 85 {
		t.Errorf("%d commands were found; have they another shape now?", ran)
	}
	t.Logf("%d commands run", ran)
	for _, why := range slices.Sorted(maps.Keys(left)) {
		t.Logf("%d not run: %s", left[why], why)
	}
}

// runDocumented runs one command, whose placeholders are filled in, and holds it to its exit status.
func runDocumented(t *testing.T, line, project string, env []string) {
	t.Helper()
	want := []int{0}
	for _, s := range documentStatus {
		if s.line.MatchString(line) {
			want = []int{s.status}
		}
	}
	if runsOn.MatchString(line) {
		want = append(want, 130)
	}
	command := line
	if strings.Contains(line, " serve ") {
		command = strings.ReplaceAll(line, "127.0.0.1:8080", "127.0.0.1:0") // a port that is free
	}
	command = placeholder.ReplaceAllStringFunc(command, func(word string) string {
		switch {
		case strings.Contains(word, "CLIENT"):
			return "cursor"
		case strings.HasPrefix(line, "mcphub auth"):
			return "linear"
		}
		return "notes"
	})
	began := time.Now()
	said, status := typed(t, command, project, env)
	if !slices.Contains(want, status) {
		t.Errorf("%s: exit status %d, want %v\n%s", command, status, want, said)
	}
	t.Logf("%s: %d, %v", command, status, time.Since(began).Round(time.Millisecond))
}

// TestDocumentsConfigurations loads each piece of hub.json in the documents, and starts its servers.
func TestDocumentsConfigurations(t *testing.T) {
	t.Parallel()
	world.Hub(t)
	found := 0
	for page, text := range documentPages(t) {
		_, pieces := documentBlocks(text)
		for i, piece := range pieces {
			found++
			t.Run(fmt.Sprintf("%s/%d", page, i+1), func(t *testing.T) {
				t.Parallel()
				w, project, env := documentHome(t)
				loadDocumented(t, w, piece, project, env)
			})
		}
	}
	if found < 12 {
		t.Errorf("%d pieces of hub.json were found; have they another shape now?", found)
	}
	w, project, env := documentHome(t)
	w.Write("home/you/.config/mcphub/hub.json", wholeHubJSON(`"polcy": {}`))
	if said, status := typed(t, "mcphub validate", project, env); status != 3 {
		t.Errorf("the control: an unknown key ends with %d\n%s", status, said)
	}
}

// loadDocumented validates a piece of hub.json, then starts the servers in it that are programs. What the pages name outside
// the home lies inside it here.
func loadDocumented(t *testing.T, w *world.World, piece, project string, env []string) {
	t.Helper()
	for _, outside := range []string{"/opt/", "/srv/"} {
		piece = strings.ReplaceAll(piece, `"`+outside, `"`+w.Path("home", "you")+outside)
	}
	for _, name := range []string{"opt/notes/notes.js", "srv/alice/.keep", "srv/team-a/.keep", "sandbox/.keep", "Templates/.keep", ".config/mcphub/mail.env"} {
		w.Write("home/you/"+name, "")
	}
	w.Write("home/you/.config/mcphub/alice.token", "a token of more than thirty-two signs\n")
	w.Write("home/you/.config/mcphub/hub.json", piece)
	for _, m := range regexp.MustCompile(`\$\{(?:keyring|input):([^}]*)\}`).FindAllStringSubmatch(piece, -1) {
		runDocumented(t, "echo value | mcphub secret set "+m[1], project, env)
	}
	runDocumented(t, "mcphub validate", project, env)
	if t.Failed() {
		t.Log(piece)
	}
	if strings.Contains(piece, `"command": "mcphub"`) {
		return // it is what a client has: a hub would start itself
	}
	cmd := exec.Command(world.Hub(t), "warm", "--json", "--root", project)
	cmd.Dir, cmd.Env, cmd.Stderr = project, env, io.Discard
	out, _ := cmd.Output() // the status is 1 where a server cannot be reached
	var warm struct {
		Servers []struct{ Name, Error string }
	}
	if err := json.Unmarshal(out, &warm); err != nil || len(warm.Servers) == 0 {
		t.Fatalf("warm: %v\n%s\n%s", err, out, piece)
	}
	for _, s := range warm.Servers {
		remote := regexp.MustCompile(`"` + s.Name + `":\s*\{\s*"url"`).MatchString(piece)
		if strings.Contains(s.Error, "no kernel enforcement here") {
			needs.Missing(t, s.Error)
		}
		if s.Error != "" && !remote {
			t.Errorf("%s does not start: %s\n%s", s.Name, s.Error, piece)
		}
	}
}
