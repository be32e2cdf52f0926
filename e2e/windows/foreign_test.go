package windows

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// TestNoLookAtAForeignServer holds that the hub opens no part of another machine, however a share is spelled: in an argument, in a root, or in
// hub.json. Wine logs each file that a program opens, and the name of a share begins with \??\UNC\ there.
func TestNoLookAtAForeignServer(t *testing.T) {
	m := onWindows(t)
	cases := seeds.Cases(t, 200)
	for _, part := range []struct {
		name  string
		cases int
		try   func(*place, *spelling, int)
	}{
		{"argument", cases * 7 / 10, foreignArguments},
		{"root", cases * 15 / 100, foreignRoots},
		{"configuration", cases * 15 / 100, foreignConfiguration},
	} {
		t.Run(part.name, func(t *testing.T) {
			p := at(t, "foreign-"+part.name, map[string]any{"witness": server("foreign", `C:\tools\witness.exe`)})
			log := filepath.Join(m.dir, p.name+".log")
			p.log = log
			part.try(p, &spelling{Rand: seeds.Rand(t)}, part.cases)
			p.leaves()
			looks, files := looksIn(t, log)
			if files < 100 {
				t.Errorf("%d files are opened: does Wine write them down otherwise now?", files)
			}
			if len(looks) > 0 {
				t.Errorf("%d looks at foreign servers by %d spellings:\n%s", len(looks), part.cases, strings.Join(looks[:min(len(looks), 20)], "\n"))
			}
		})
	}
}

// TestALookIsSeen is the control.
func TestALookIsSeen(t *testing.T) {
	p := at(t, "look", nil)
	p.log = filepath.Join(p.dir, "look.log")
	cmd := exec.Command("sh", p.logged(p.wine, "cmd", "/c", "type", `\\foreign.example\share\x`)...)
	cmd.Dir, cmd.Env = p.dir, p.environment()
	_ = cmd.Run() // there is no such share
	if looks, _ := looksIn(t, p.log); len(looks) == 0 {
		t.Error("a program that opens a file of a share is not seen")
	}
}

// logged gives the arguments for sh to run a program whose standard error goes to the log of the place.
func (p *place) logged(program string, args ...string) []string {
	return append([]string{"-c", `log=$1; shift; exec "$@" 2>>"$log"`, "sh", p.log, program}, args...)
}

// environment gives the variables of a process whose files Wine logs.
func (p *place) environment() []string {
	return append(append([]string{}, p.env...), p.mark, "WINEDEBUG=-all,+file")
}

// client starts a hub whose files Wine logs.
func (p *place) client(roots ide.Roots, more ...string) *ide.Client {
	p.t.Helper()
	o := ide.Options{Command: "sh", Args: p.logged(p.wine, append([]string{hub, "serve", "--config", p.config}, more...)...), Dir: p.path(p.root), Env: p.environment(), Roots: roots}
	if roots == nil {
		o.Capabilities = `{}`
	}
	c, err := ide.Start(o)
	world.Must(p.t, err)
	return c
}

// look is a name in the log that begins as a share, plainly or through a device. Backslashes are doubled there.
var look = regexp.MustCompile(`(?i)L"\\\\\?\?\\\\(GLOBALROOT\\\\)?((\?\?\\\\)?UNC|Device\\\\(Mup|LanmanRedirector))\\\\`)

// looksIn gives the lines of a log that name a share of a server that no root names, and the number of lines that name a file.
func looksIn(t *testing.T, log string) (looks []string, files int) {
	t.Helper()
	f, err := os.Open(log)
	world.Must(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.Contains(line, `\\??\\`) {
			files++
		}
		if look.MatchString(line) && !strings.Contains(line, named) {
			looks = append(looks, line)
		}
	}
	world.Must(t, lines.Err())
	return looks, files
}

// foreignArguments sends calls that name shares.
func foreignArguments(p *place, s *spelling, n int) {
	c := p.client(ide.Result(`{"roots":[{"uri":"file:///c%3A/starts/` + p.name + `"}]}`))
	defer p.ends(c, bounds.Patience)
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	if _, err := c.Initialize(ctx); err != nil {
		p.t.Fatal(err)
	}
	p.call(c, "witness")
	const atATime = 100
	for ; n > 0; n -= atATime {
		foreignCalls(p.t, c, s, min(n, atATime))
	}
}

// foreignCalls sends some calls at a time. One that has a share for its path is refused.
func foreignCalls(t *testing.T, c *ide.Client, s *spelling, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	calls := make([]call, n)
	for i := range calls {
		calls[i] = s.call()
	}
	for _, o := range send(ctx, t, c, "witness", calls) {
		if o.passed && !o.may {
			t.Errorf("it passes: %s", o.call)
		}
	}
}

// named is a server that a root names. The hub looks at it.
const named = "named.foreign.example"

// namesServer fits a root that is a share: the hub takes it, and looks at its server.
var namesServer = regexp.MustCompile(`(?i)^((file:)?[/\\]{2}|file:[/\\]{4,})[^/\\@:?%\[ .][^/\\@:?%\[ ä]*([/\\]|$)`)

// unnamed makes a spelling of a root that the hub does not take.
func unnamed(spell func() string) string {
	for {
		if root := spell(); !namesServer.MatchString(root) {
			return root
		}
	}
}

// foreignRoots answers with roots that are no shares for the hub but may be for others, beside two that it takes, one of which is a share. It
// makes calls that name other servers.
func foreignRoots(p *place, s *spelling, n int) {
	roots := []map[string]string{{"uri": "file:///c%3A/starts/" + p.name}, {"uri": "file://" + named + "/share"}}
	for range n {
		uri := unnamed(func() string { return s.one(s.uri(), s.uri(), s.share()) })
		roots = append(roots, map[string]string{"uri": uri, "name": "x"})
	}
	text, err := json.Marshal(map[string]any{"roots": roots})
	world.Must(p.t, err)
	c := p.client(ide.Result(string(text)))
	defer p.ends(c, bounds.Patience)
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	if _, err := c.Initialize(ctx); err != nil {
		p.t.Fatal(err)
	}
	p.call(c, "witness")
	foreignCalls(p.t, c, s, 50)
}

// foreignConfiguration names shares at each place of hub.json that takes a path, and has validate and serve read it. What the policy names is
// spelled as a person spells a directory; a hub with a rule that it cannot read does not start.
func foreignConfiguration(p *place, s *spelling, n int) {
	servers := map[string]any{"witness": server("foreign", `C:\tools\witness.exe`)}
	fallback := []any{p.root}
	protected, rules := []any{}, []any{} // not nil, which is null in JSON: the hub refuses it
	for i := range n {
		share, name := s.share(), fmt.Sprintf("s%d", i)
		switch s.IntN(9) {
		case 0:
			fallback = append(fallback, unnamed(s.share))
		case 1:
			fallback = append(fallback, unnamed(s.share)+`\*`)
		case 2:
			fallback = append(fallback, unnamed(s.uri))
		case 3:
			protected = append(protected, s.directory())
		case 4:
			rules = append(rules, map[string]any{"name": name, "then": s.one("deny", "deny", "allow"), "if": map[string]any{"paths": map[string]any{"within": s.directory()}}})
		case 5:
			servers[name] = map[string]any{"command": share + `\x.exe`}
		case 6:
			servers[name] = map[string]any{"command": `C:\tools\witness.exe`, "cwd": share}
		case 7:
			servers[name] = map[string]any{"command": `C:\tools\witness.exe`, "envFile": share + `\.env`}
		case 8:
			servers[name] = map[string]any{"command": `C:\tools\witness.exe`, "args": []string{share, "--config=" + share}}
		}
	}
	p.validateAndServe(map[string]any{"mcpServers": servers, "roots": map[string]any{"fallback": fallback}, "policy": map[string]any{"protected": protected, "rules": rules}})
}

// validateAndServe has both read a hub.json. A call of the witness reaches it.
func (p *place) validateAndServe(config map[string]any) {
	p.t.Helper()
	text, err := json.MarshalIndent(config, "", "  ")
	world.Must(p.t, err)
	world.Must(p.t, p.write(p.config, string(text)))
	validate := exec.Command("sh", p.logged(p.wine, hub, "validate", "--config", p.config)...)
	validate.Dir, validate.Env = p.path(p.root), p.environment()
	_ = validate.Run() // it may find something wrong
	c := p.client(nil)
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	if _, err := c.Initialize(ctx); err != nil {
		p.t.Error(err)
	}
	p.call(c, "witness")
	if e := c.Close(bounds.Patience); e.Killed || e.Code != 0 {
		p.t.Errorf("it ends with %+v", e)
	}
}

// A spelling writes names of shares as they are not often written.
type spelling struct {
	*rand.Rand
	n int
}

func (s *spelling) one(of ...string) string { return of[s.IntN(len(of))] }

// separator returns a sign between the parts of a path.
func (s *spelling) separator() string { return s.one(`\`, `\`, `/`, `\\`, `\/`) }

// host returns the name of a server, which no other spelling has.
func (s *spelling) host() string {
	s.n++
	name := s.one(fmt.Sprintf("h%d.foreign.example", s.n), fmt.Sprintf("H%d", s.n), fmt.Sprintf("10.9.%d.%d", s.n/250%250, s.n%250), fmt.Sprint(167837696+s.n),
		fmt.Sprintf("0x0a01%04x", s.n%65536), fmt.Sprintf("fe80--%x.ipv6-literal.net", s.n), fmt.Sprintf("[fe80::%x]", s.n%65536), fmt.Sprintf("xn--h%d", s.n), fmt.Sprintf("h%d-ä", s.n))
	return name + s.one("", "", "", "@80", "@SSL", "@SSL@443", ".", ":445", " ")
}

// share returns the path of something on another machine.
func (s *spelling) share() string {
	a, b := s.separator()[:1], s.separator()[:1]
	begin := s.one(a+b, `\\`, `//`, `\\?\UNC\`, `//?/UNC/`, `\\.\UNC\`, `\??\UNC\`, `\\?\unc\`, `//./unc/`, `\\?/UNC\`, `\/?\UNC/`, `\\?\GLOBALROOT\??\UNC\`, `\\.\GLOBALROOT\Device\Mup\`, `\\?\GLOBALROOT\Device\LanmanRedirector\`)
	path := begin + s.host() + s.separator() + s.one("share", "c$", "C$", "IPC$", "admin$", "DavWWWRoot", "a b", "x.", "..", ".")
	for range s.IntN(4) {
		path += s.separator() + s.one("x", "x.txt", "..", ".", "a b", "*", "x::$DATA", "new", "%USERNAME%")
	}
	return path + s.one("", "", "", `\`, "/", " ", ".")
}

// directory returns the path of a directory on another machine, without what no directory can be called.
func (s *spelling) directory() string {
	begin := s.one(`\\`, `//`, `\\?\UNC\`, `//?/UNC/`, `\\.\UNC\`, `\??\UNC\`, `\\?\unc\`, `\\?\GLOBALROOT\??\UNC\`, `\\.\GLOBALROOT\Device\Mup\`)
	return begin + s.host() + s.one(`\share`, "/c$", `\a b\x`, `\DavWWWRoot\x\..\y`, `\IPC$\`)
}

// uri returns a URI of something on another machine.
func (s *spelling) uri() string {
	host := strings.TrimSpace(s.host())
	path := s.one("/share/x", "/c$/x", "/share/../x", "/share/%2e%2e/x", "/share/a%20b", "/C:/x", "/", "")
	switch s.IntN(4) {
	case 0:
		return s.one("file:", "FILE:", "File:", "file:", "vscode-remote:", "url:file:") + s.one("//", "////", "/////", `\\`, `/\`, `\/`, `//%5C%5C`, "///%5c%5c", "///", "//./", "//?/UNC/", "///?/UNC/", "///%3f%3f/UNC/") + host + path
	case 1:
		return "file://" + s.one("user@", "user:pw@", "localhost@", "") + host + s.one("", ":445", ":80") + path
	case 2:
		return "file:" + strings.ReplaceAll(s.share(), " ", "%20")
	default:
		return "file://" + host + path
	}
}

// call returns a call that names a share.
func (s *spelling) call() call {
	share := s.share()
	tool, arguments := "", map[string]any(nil)
	may := false
	switch s.IntN(16) {
	case 0, 1, 2:
		tool, arguments = "read", map[string]any{"path": share}
	case 3:
		tool, arguments = "open", map[string]any{"file": s.one("", " ", "\t", `"`) + share}
	case 4, 5:
		tool, arguments = "load", map[string]any{"uri": s.uri()}
		may = true // a URI that names no file is none of the hub's business
	case 6:
		tool, arguments = "read", map[string]any{"path": s.uri()}
		may = true
	case 7, 8:
		quote := s.one("", `"`)
		tool, arguments = "run", map[string]any{"command": s.one("type ", "copy README.md ", "dir ", "pushd ", "start ", "type<", "more < ", "echo x> ", "cmd /c type ", "", "call ", "robocopy . ", "net use ") + quote + share + quote}
		may = true
	case 9:
		tool, arguments = "script", map[string]any{"script": s.one("gc ", "Get-Content -Path ", "cd ", "[IO.File]::ReadAllText(", "& ", ". ", "Start-Process ") + "'" + share + "'"}
		may = true
	case 10:
		tool, arguments = "sql", map[string]any{"query": s.one("SELECT * FROM ", "ATTACH ", "COPY t TO ", "SELECT readfile(", "EXEC xp_dirtree ") + "'" + share + "'"}
		may = true
	case 11:
		tool, arguments = "exec", map[string]any{"cmd": "tool", "args": []string{s.one("", "--out=", "-o", "@", "/out:", "--x=@") + share}}
		may = true
	case 12:
		tool, arguments = "read_many", map[string]any{"paths": []string{"README.md", share}}
	case 13:
		tool, arguments = "set", map[string]any{"key": "x", "value": s.one("", "a;", "x=", "@") + share}
		may = true
	case 14:
		tool, arguments = "git", map[string]any{"repo": share, "args": []string{"log"}}
	default:
		tool, arguments = "say", map[string]any{"content": s.one("", "see ") + s.uri()}
		may = true
	}
	text, _ := json.Marshal(arguments) // it holds texts
	return call{at: fmt.Sprintf("spelling %d", s.n), project: "foreign", tool: tool, arguments: string(text), class: "foreign", may: may}
}
