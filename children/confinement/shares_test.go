package confinement_test

import (
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
)

// TestWhoShares: what all programs of the user share is open to the ones that cannot
// do without, and to no others.
func TestWhoShares(t *testing.T) {
	h, home := confinedMachine(t)
	at := func(p string) string { return filepath.Join(home, p) }
	putFile(t, at("work/venv/bin/server"), "#!"+at("work/venv/bin/python")+"\n")
	putFile(t, at("work/rooted/server"), "#!/usr/bin/python3\n")
	putFile(t, at("work/shim/server"), "#!/bin/sh\nexec node x\n")
	putFile(t, at("work/envd/server"), "#!/usr/bin/env python3\n")
	putFile(t, at("copy/bin/server"), "#!"+at("copy/bin/python")+"\n")
	playwright := putFile(t, at("tools/node_modules/@playwright/mcp/cli.js"), "")
	commander := putFile(t, at("tools/node_modules/@wonderwhy-er/desktop-commander/dist/index.js"), "")
	in := func(p program.Program, change func(*program.Program)) program.Program { change(&p); return p }
	type shares struct{ memory, terminals bool }
	none, memory, both, terminals := shares{}, shares{memory: true}, shares{true, true}, shares{terminals: true}
	for _, tc := range []struct {
		name string
		prog program.Program
		want shares
	}{
		{"node", confinedProgram("node", at("work/server/dist/index.js")), none},
		{"a program", confinedProgram(at(".cargo/bin/tool")), none},
		{"a package of npm", confinedProgram("npx", "-y", "some-server"), none},
		{"a script that a server may have written", confinedProgram(at("work/rooted/server")), none},
		{"a shell that starts a program", confinedProgram(at("work/shim/server")), none},
		{"python among its arguments", confinedProgram("node", at("work/server/dist/index.js"), "python3"), none},
		{"python", confinedProgram("python3", "-m", "server"), memory},
		{"python by its version", confinedProgram("/usr/bin/python3.11", "-m", "server"), memory},
		{"python of a venv", confinedProgram(at("work/venv/bin/python"), "-m", "server"), memory},
		{"python behind env", confinedProgram("env", "A=b", "python3", "-m", "server"), memory},
		{"a script of a venv", confinedProgram(at("work/venv/bin/server")), memory},
		{"a script by env", confinedProgram(at("work/envd/server")), memory},
		{"uvx", confinedProgram("uvx", "mcp-server-git"), memory},
		{"pipx", confinedProgram("pipx", "run", "mcp-server-git"), memory},
		{"a shell", confinedProgram("bash", "-c", "exec server"), both},
		{"a shell behind timeout", confinedProgram("timeout", "5", "zsh"), both},
		{"a browser", confinedProgram("node", playwright), memory},
		{"what reaches every service", in(confinedProgram("node", at("work/server/dist/index.js")), func(p *program.Program) { p.Sandbox.Sockets = sandbox.Yes }), memory},
		{"a server that runs commands", confinedProgram("node", commander), terminals},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := writable(h, home, "work/rooted")
			m = m.WithShelter(tc.prog, zerolog.Nop())
			if name, _, _ := commandline.LauncherOf(tc.prog.Command); name == "uvx" { // installed first
				m = m.WithInstalled(&program.Installed{Dir: at("copy"), Command: at("copy/bin/server")})
			}
			l, err := launch.Plan(tc.prog, rootsAt(at("work/rooted")), m)
			if err != nil {
				t.Fatal(err)
			}
			p := l.Sandbox.Profile
			have := shares{memory: p.AccessAt(sandbox.Memory.Path)&sandbox.Write != 0, terminals: p.AccessAt(sandbox.Terminals.Path)&sandbox.Write != 0}
			if have != tc.want {
				t.Errorf("it has %+v, want %+v", have, tc.want)
			}
		})
	}
}

// TestAnEntrySharesMore: what is not given can be named, and then a terminal can be used as one.
func TestAnEntrySharesMore(t *testing.T) {
	h, home := confinedMachine(t)
	prog := confinedProgram("node", filepath.Join(home, "work/server/dist/index.js"))
	prog.Sandbox.Write = []string{sandbox.Memory.Path, sandbox.Terminals.Path}
	l, err := launch.Plan(prog, nil, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []sandbox.Rule{sandbox.Memory, sandbox.Terminals} {
		if got := l.Sandbox.Profile.AccessAt(r.Path); r.Access&^got != 0 {
			t.Errorf("%s is open to %s, want %s", r.Path, got, r.Access)
		}
	}
}
