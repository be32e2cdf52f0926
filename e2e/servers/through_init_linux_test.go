package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"mcphub/e2e/world"
)

// imported is one entry that a client has, as someone writes it, and a day's work with it: a read and a first write.
type imported struct {
	configured
	client string // whose file has it; "" Claude Code
}

// A verdict is what becomes of an entry through init, as someone sees who pastes what is printed.
type verdict string

const (
	works      verdict = "works"
	leftMended verdict = "left, mended"     // it stays on in its client with a reason, and a printed command makes it work
	leftReason verdict = "left, reason"     // it stays on in its client with a reason; no printed command makes it work
	toldMended verdict = "told, mended"     // init took it over; its work is refused, and a printed command makes it work
	toldReason verdict = "told, reason"     // init took it over; its work is refused with a reason, and no printed command makes it work
	silent     verdict = "breaks silently"  // init took it over, its work fails, and no line says why
	noControl  verdict = "breaks by itself" // it does not work without the hub
	wordless   verdict = "left, no reason"  // it stays on in its client without a reason
	unconfined verdict = "works, not held"  // init took it over without the kernel, and no one asked for that
	pastedBad  verdict = "a bad command"    // a printed command fails when it is pasted
	notRun     verdict = "lacks a program"  // of this machine
)

// These are how many entries there are at least, how many of them work, and how many work once the printed commands are pasted.
const (
	importedAll    = 89
	importedWorks  = 62
	importedMended = 85
)

// TestEntriesThroughInit has init take over entries as people write them, and does a day's work with each in another process. Each
// becomes what its line says, so that a change for the better is noticed, too. MCPHUB_E2E_ENTRY, a regular expression, runs some alone.
func TestEntriesThroughInit(t *testing.T) {
	world.RequireLandlock(t)
	world.RequireNode(t)
	only := regexp.MustCompile(os.Getenv("MCPHUB_E2E_ENTRY"))
	var chosen []*imported
	for i := range importedEntries {
		if e := &importedEntries[i]; only.MatchString(e.name) && (world.Long || e.quick) {
			chosen = append(chosen, e)
		}
	}
	got, said := make([]verdict, len(chosen)), make([]string, len(chosen))
	t.Run("entries", func(t *testing.T) {
		for i, e := range chosen {
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				got[i] = notRun // until it comes to its end
				got[i], said[i] = e.live(t)
				if want, why := e.expected(); got[i] != want {
					t.Errorf("%s: %q and not %q (%s)\n%s", e.name, got[i], want, why, said[i])
				}
			})
		}
	})
	count := map[verdict]int{}
	var rows strings.Builder
	for i, e := range chosen {
		count[got[i]]++
		_, why := e.expected()
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", e.name, got[i], why)
	}
	t.Logf("%v\n| entry | through init | why |\n|---|---|---|\n%s", count, rows.String())
	if !world.Long || os.Getenv("MCPHUB_E2E_ENTRY") != "" {
		return
	}
	if len(importedEntries) < importedAll {
		t.Errorf("%d entries are too few", len(importedEntries))
	}
	if count[works] < importedWorks-count[notRun] {
		t.Errorf("%d of %d work, want %d", count[works], len(chosen), importedWorks)
	}
	if all := count[works] + count[leftMended] + count[toldMended]; all < importedMended-count[notRun] {
		t.Errorf("%d of %d work, or do after what is printed, want %d", all, len(chosen), importedMended)
	}
	if n := count[silent] + count[wordless]; n > 0 {
		t.Errorf("%d break without a word", n)
	}
}

// TestEntriesThroughInitForOthers does the same as an ordinary user.
func TestEntriesThroughInitForOthers(t *testing.T) {
	t.Parallel()
	if world.IsForOthers() || os.Geteuid() != 0 && !needs.InCI() {
		t.Skip("TestEntriesThroughInit runs as an ordinary user already")
	}
	world.RequireLandlock(t)
	world.RequireNode(t)
	var more []string
	if world.Long && needs.Has("javac") {
		more = append(more, prebuilt(t, "notes.jar"))
	}
	world.AsOrdinaryUser(t, []string{"TestEntriesThroughInit"}, more...)
}

// expected returns what becomes of it today, and why it does not work, in plain words.
func (e *imported) expected() (verdict, string) {
	for _, list := range notYet {
		if slices.Contains(list.names, e.name) {
			return list.verdict, list.why
		}
	}
	return works, ""
}

// live takes an entry from its client to its first write, and returns what became of it and all that a person could read meanwhile.
func (e *imported) live(t *testing.T) (verdict, string) {
	e.need(t)
	for _, folder := range []string{"everyday", "servers"} {
		if strings.Contains(fmt.Sprint(e.hub, e.files), "{"+folder+"}") {
			world.NPM.Of(t, folder)
		}
	}
	control := e.at(newDesk(t, &e.configured))
	control.apart = e.client == "claude-desktop"
	direct := control.gather()
	if why := direct.wrong(&e.configured); why != "" {
		return noControl, why
	}
	d := e.at(newDesk(t, &e.configured))
	file := d.configureClient(e.client)
	var all strings.Builder
	read := func(s string) string { all.WriteString(s + "\n"); return s }

	shown := read(d.runs("mcphub", "init", "--yes"))
	if d.isIn(file) {
		shown += read(d.typed("mcphub init"))
	}
	var pasted []string
	reason := true
	for {
		left, wrong := d.isIn(file), ""
		if left {
			reason = reason && reasons.MatchString(shown)
		} else if wrong = d.work(e, file, read); wrong == "" {
			switch {
			case d.isFree():
				return unconfined, all.String()
			case pasted == nil:
				return works, all.String()
			case e.wasLeft(all.String()):
				return leftMended, all.String()
			}
			return toldMended, all.String()
		}
		if !left {
			shown += wrong + read(d.runs("mcphub", "why")) + read(d.runs("mcphub", "doctor"))
		}
		commands := slices.DeleteFunc(pastable.FindAllString(shown, -1), func(c string) bool { return slices.Contains(pasted, c) })
		slices.Sort(commands)
		if commands = slices.Compact(commands); len(commands) == 0 || len(pasted) > maxMends*2 {
			switch {
			case left && reason:
				return leftReason, all.String()
			case left:
				return wordless, all.String()
			case strings.Contains(wrong, "\nmcphub: "):
				return toldReason, all.String()
			}
			return silent, all.String()
		}
		shown = ""
		for _, command := range commands {
			pasted = append(pasted, command)
			said, status := d.types(command)
			shown += read("$ " + command + "\n" + said)
			if status != 0 {
				return pastedBad, all.String()
			}
		}
		if left {
			shown += read(d.typed("mcphub init"))
		}
	}
}

var (
	pastable = regexp.MustCompile(`(?m)\bmcphub (allow|add|enable|warm|secret|approve|accept|learn) [^\n` + "`" + `]+`)
	reasons  = regexp.MustCompile(`(does not work|not tried): \S`)
)

// wasLeft reports whether init had left the entry in its client first.
func (e *imported) wasLeft(all string) bool {
	return strings.Contains(all, "stays on") || reasons.MatchString(all)
}

// work does what the entry is for, each call in a process of its own, and returns what is wrong; "" nothing.
func (d *desk) work(e *imported, file string, read func(string) string) string {
	d.T.Helper()
	for _, a := range []act{e.read, e.write} {
		if a.tool == "" {
			continue
		}
		args := append([]string{"call", "it__" + a.tool, "--args", d.fill.Replace(a.args)}, d.scope(e, file)...)
		said, status := d.ends(args...)
		read("$ mcphub " + strings.Join(args, " ") + "\n" + said)
		if status != 0 && !a.fails || !strings.Contains(d.same(said), otherEachTime.ReplaceAllString(a.want, "N")) {
			return said
		}
	}
	for _, name := range world.Names(e.leaves) {
		text, err := os.ReadFile(d.plain.Replace(name))
		if err != nil || !strings.Contains(string(text), e.leaves[name]) {
			return fmt.Sprintf("%s: %v, %.200q\n", name, err, text)
		}
	}
	return ""
}

// scope returns the folders that a client has open: the project's, or what init has registered for a client without folders.
func (d *desk) scope(e *imported, file string) []string {
	d.T.Helper()
	if e.client != "claude-desktop" {
		return []string{"--root", d.opened()[0]}
	}
	var args []string
	for _, a := range d.entries(file)["mcphub"].Args {
		if a != "serve" {
			args = append(args, a)
		}
	}
	return args
}

// clientFiles is where clients keep their servers.
var clientFiles = map[string]string{"": ".claude.json", "cursor": ".cursor/mcp.json", "claude-desktop": ".config/Claude/claude_desktop_config.json"}

// configureClient writes the file of a client that has the entry, and returns its name.
func (d *desk) configureClient(client string) string {
	d.T.Helper()
	file := filepath.Join(d.Home, clientFiles[client])
	world.Must(d.T, os.MkdirAll(filepath.Dir(file), 0o700))
	world.Must(d.T, os.WriteFile(file, []byte(world.Raw(d.T, obj{"mcpServers": obj{"it": d.filled()}})), 0o600))
	return file
}

// entries returns the servers of a client's file, or of hub.json.
func (d *desk) entries(file string) map[string]struct {
	Args     []string
	Disabled bool
	Sandbox  any
} {
	d.T.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	world.Must(d.T, err)
	var have struct {
		MCPServers map[string]struct {
			Args     []string
			Disabled bool
			Sandbox  any
		} `json:"mcpServers"`
	}
	world.Must(d.T, json.Unmarshal(text, &have))
	return have.MCPServers
}

// isIn reports whether a client's file has the entry still.
func (d *desk) isIn(file string) bool {
	_, has := d.entries(file)["it"]
	return has
}

// isFree reports whether the kernel does not hold the entry, by hub.json.
func (d *desk) isFree() bool {
	return d.entries(filepath.Join(d.Home, ".config", "mcphub", "hub.json"))["it"].Sandbox == "off"
}

// session returns the environment of a person's shell, which finds mcphub.
func (d *desk) session() []string {
	return d.environment("PATH=" + filepath.Dir(world.Hub(d.T)) + ":" + filepath.Dir(world.NPM.Program) + ":/usr/local/bin:/usr/bin:/bin")
}

// runs runs a command that has no terminal, and returns all that it printed.
func (d *desk) runs(_ string, args ...string) string {
	said, _ := d.ends(args...)
	return said
}

// ends runs mcphub without a terminal, and returns all that it printed, and how it ended.
func (d *desk) ends(args ...string) (string, int) {
	d.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), installBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, world.Hub(d.T), args...)
	cmd.Dir, cmd.Env = d.opened()[0], d.session()
	said, _ := cmd.CombinedOutput() // the status tells
	return string(said), cmd.ProcessState.ExitCode()
}

// typed types a command at a terminal, and agrees to all that is asked.
func (d *desk) typed(line string) string {
	said, _ := d.types(line)
	return "$ " + line + "\n" + said
}

// types is typed that also returns how the command ended.
func (d *desk) types(line string) (string, int) {
	d.T.Helper()
	terminal, side := world.PseudoTerminal(d.T)
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.opened()[0], d.session(), side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	world.Must(d.T, cmd.Start())
	world.Must(d.T, side.Close())
	bound := time.AfterFunc(installBound, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer bound.Stop()
	var out strings.Builder
	for buffer := make([]byte, 4096); ; {
		n, err := terminal.Read(buffer)
		out.Write(buffer[:n])
		if err != nil { // no process has the other side any more
			break
		}
		if asked.MatchString(out.String()) {
			answer := "y\n"
			if strings.HasSuffix(out.String(), "numbers such as 1,3] ") {
				answer = "\n"
			}
			_, err = terminal.WriteString(answer)
			world.Must(d.T, err)
		}
	}
	_ = cmd.Wait() // the status tells
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}

var asked = regexp.MustCompile(`[\]?:)] $`)
