package kernel

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/world"
)

// hubAttacks are what a shell tries with the hub that it descends from. {mcphub} is the program, with the hub's own folders in
// its environment; {opener} attacks processes; {pid} is the hub or its guardian, {sock} the hub's socket, {state}, {runtime},
// {config}, {outside} and {secret} are places outside of the roots. An attack comes through where its output shows what it is
// after, or the hub's own refusal, which only who reaches it gets.
var hubAttacks = []struct{ command, shows string }{
	{`{mcphub} status --json`, "servers start may not"},
	{`{mcphub} reload`, "servers start may not"},
	{`{mcphub} restart kid --config {config}`, "servers start may not"},
	{`{mcphub} approve list`, "servers start may not"},
	{`script -qc '{mcphub} approve list' /dev/null`, "servers start may not"},
	{`{mcphub} logs kid --config {config}`, "a line of the log"},
	{`{mcphub} audit show`, "kid"},
	{`{mcphub} call f__read_text_file path={secret} --root {outside} --config ./mine.json`, world.SecretText},
	{`{mcphub} call f__read_text_file path={secret} --root / --config ./mine.json`, world.SecretText},
	{`rm -f p o; mkfifo p; {mcphub} serve --config ./mine.json --roots {outside} < p > o & exec 3>p; cat lines >&3; until grep -q '"id":2' o || ! kill -0 $!; do :; done; exec 3>&-; wait; cat o`, world.SecretText},
	{`{opener} do mem {pid}`, world.SecretText},
	{`{opener} do vm {pid}`, world.SecretText},
	{`{opener} do ptrace {pid}`, world.SecretText},
	{`{opener} do getfd {pid}`, "took"},
	{`{opener} do signal {pid}`, "sent"},
	{`{opener} do pidfd {pid}`, "sent"},
	{`kill -CONT {pid} && echo sent`, "sent"},
	{`kill -WINCH {pid} && echo sent`, "sent"},
	{`{opener} do connect {sock}`, "servers start may not"},
	{`cat /proc/{pid}/environ`, world.SecretText},
	{`cat /proc/{pid}/root{secret}`, world.SecretText},
	{`ls /proc/{pid}/cwd/ && echo listed`, "listed"},
	{`ls /proc/{pid}/root/ && echo listed`, "listed"},
	{`ls -l /proc/{pid}/fd`, "->"},
	{`for f in /proc/{pid}/fd/*; do : < "$f" && echo opened "$f"; done`, "opened /proc"},
	{`cat {config}`, "mcpServers"},
	{`ls {state}`, "audit"},
	{`cat {state}/audit/*.jsonl`, `"prev":`},
	{`ls {runtime}/mcphub`, ".sock"},
	{`touch {state}/new && echo made; rm -f {state}/new`, "made"},
	{`: >> {config} && echo opened`, "opened"},
	{`: >> {state}/audit/new && echo made; rm -f {state}/audit/new`, "made"},
	{`touch {runtime}/mcphub/new && echo made; rm -f {runtime}/mcphub/new`, "made"},
	{`mv {sock} {sock}.moved && mv {sock}.moved {sock} && echo it has moved`, "it has moved"},
	{`mkdir -p ./m; unshare -Urm sh -c 'mount --bind {outside} ./m && cat ./m/secret.txt'`, world.SecretText},
	{`mkdir -p ./m; unshare -Urm sh -c 'mount --rbind / ./m && cat ./m{secret}'`, world.SecretText},
	{`mkdir -p ./m; unshare -Urm sh -c 'mount --move {outside} ./m; mount -t tmpfs none ./m && mkdir ./m/x && mount --bind {outside} ./m/x && cat ./m/x/secret.txt'`, world.SecretText},
	{`mkdir -p ./m ./u ./k; unshare -Urm sh -c 'mount -t overlay none -o lowerdir={outside},upperdir=./u,workdir=./k ./m && cat ./m/secret.txt'`, world.SecretText},
	{`unshare -Urmpf --mount-proc cat {secret}`, world.SecretText},
	{`unshare -Ur unshare -Urm cat {secret}`, world.SecretText},
	{`unshare -Ur chroot {outside} /none; unshare -Ur chroot / cat {secret}`, world.SecretText},
	{`nsenter -t {pid} -m -U --preserve-credentials cat {secret}`, world.SecretText},
	{`nsenter -t {pid} -m cat {secret}`, world.SecretText},
}

// unaccepted is the output of a hub that such a shell starts: the hub runs nothing that the shell wrote.
const unaccepted = "nobody has accepted it yet. No server runs"

// unsure are attacks that do not come through on every machine, if nothing holds them either: they need namespaces, tools, or
// rights that a container may not have.
func unsure(command string) bool {
	return slices.ContainsFunc([]string{"unshare", "nsenter", "do mem", "do vm", "do ptrace", "do getfd", "script "}, func(what string) bool { return strings.Contains(command, what) })
}

// A shell in a child of a running hub tries to command that hub, to look into it, to stop it, to start another one with wider
// roots, and to leave its own view of the disk: as it is, in a session of its own, and with two forks between. In the sandbox
// nothing comes through. The control is the same shell free. With MCPHUB_LONG_CASES each attack comes in all three ways,
// and is made on the hub, on its guardian and on the adapter of a client that is attached.
func TestAConfinedShellAndItsHub(t *testing.T) {
	needs.Line(t, "bash grep nsenter script setsid unshare")
	for _, how := range ways {
		if how.attached && world.IsInContainer() {
			continue
		}
		free := how.free
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			s := newSandboxed(t, how, func(w *world.World) obj {
				entry := openerEntry(free)(w)
				// The program can be run, as it can where it is installed.
				entry["sandbox"] = obj{"mode": "required", "read": []string{world.Hub(t), world.Bin.Opener}}
				return entry
			})
			s.w.Write("project/mine.json", `{"mcpServers":{"f":{"builtin":"files"}}}`)
			s.w.Write("project/lines", world.FirstLines+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"f__read_text_file","arguments":{"path":"`+s.w.Path("outside", "secret.txt")+`"}}}`+"\n")
			came := 0
			for i, a := range hubAttacks {
				for j, how := range []string{"{c}", "setsid -w bash -c {q}", "( ( setsid bash -c {q} & ) & )"} {
					pids := s.hubProcesses()
					if world.LongCases(t, 0, 1) == 0 {
						if j != i%3 {
							continue
						}
						pids = pids[i%len(pids):][:1]
					}
					for _, pid := range pids {
						line := s.attack(a.command, how, pid)
						said := s.MustCallArgs("kid__shell", obj{"command": line}).Text
						through := strings.Contains(said, a.shows) || free && strings.Contains(said, unaccepted)
						switch {
						case through && !free:
							t.Errorf("it comes through: %s\n%.500s", line, said)
						case through:
							came++
						case free && unsure(a.command):
							t.Logf("does not work on this machine anyway: %s\n%.300s", line, said)
						case free:
							t.Errorf("it does not come through even where nothing holds it, so this shows nothing: %s\n%.500s", line, said)
						}
						if !strings.Contains(a.command, "{pid}") {
							break
						}
					}
				}
			}
			t.Logf("%v: %d came through", how, came)
			if changed := s.changes(); !free && len(changed) > 0 {
				t.Errorf("changed outside: %q", changed)
			}
			if said := s.MustCall("kid__shell", `{"command":"cat hello.txt; `+world.Bin.Hub+` version"}`).Text; !strings.Contains(said, honestText) || !strings.Contains(said, "mcphub") {
				t.Errorf("the shell cannot do what it may: %s", said)
			}
		})
	}
}

// hubProcesses returns what the client has started, the hub, and what guards it.
func (s *sandboxed) hubProcesses() []int {
	s.T.Helper()
	all := []int{s.PID()}
	for _, p := range world.Marked(s.T, "HOME="+s.w.Home) {
		if p.PID != s.PID() && strings.HasPrefix(p.Command, world.Bin.Hub) && !strings.Contains(p.Command, "mine.json") {
			all = append(all, p.PID)
		}
	}
	return all
}

func (s *sandboxed) attack(command, how string, pid int) string {
	s.T.Helper()
	state := s.w.Path("home", "state", "mcphub")
	socks, err := filepath.Glob(filepath.Join(s.runtime, "mcphub", "*.sock"))
	if err != nil || len(socks) != 1 {
		s.T.Fatalf("the hub's sockets: %q, %v", socks, err)
	}
	env := strings.Join([]string{"env", "HOME=" + s.w.Home, "XDG_STATE_HOME=" + s.w.Path("home", "state"), "XDG_CACHE_HOME=" + s.w.Path("home", "cache"),
		"XDG_CONFIG_HOME=" + s.w.Path("home", "config"), "XDG_RUNTIME_DIR=" + s.runtime}, " ")
	line := strings.NewReplacer("{mcphub}", env+" "+world.Bin.Hub, "{opener}", "env OPENER_NEEDLE="+hex.EncodeToString([]byte(world.SecretText))+" "+world.Bin.Opener,
		"{pid}", fmt.Sprint(pid), "{sock}", socks[0], "{runtime}", s.runtime, "{state}", state, "{config}", s.w.Path("hub.json"),
		"{outside}", s.w.Outside, "{secret}", s.w.Path("outside", "secret.txt")).Replace(command)
	return strings.NewReplacer("{c}", line, "{q}", quoteShell(line)).Replace(how)
}
