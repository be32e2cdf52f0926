//go:build unix

package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/world"
)

// advice is what doctor says about one thing that is wrong.
type advice struct {
	Group, Subject, Severity, At, Text, Cure, Command string
	Details                                           []string
}

// sick is a machine on which something is made wrong.
type sick struct {
	*world.World
	hub  string   // hub.json
	more []string // of the environment
}

// newSick returns a machine whose path is short, as sockets need it.
func newSick(t *testing.T) *sick {
	t.Helper()
	dir, err := os.MkdirTemp("", "sick")
	world.Must(t, err)
	t.Cleanup(func() { world.Must(t, os.RemoveAll(dir)) })
	m := &sick{World: world.NewIn(t, dir)}
	for _, dir := range []string{"tmp", "run"} {
		world.Must(t, os.MkdirAll(m.Path(dir), 0o700))
	}
	return m
}

// doctor runs mcphub doctor, and gives what it found.
func (m *sick) doctor() (found []advice, status int) {
	m.T.Helper()
	out, said, status := m.run(world.Hub(m.T), "doctor", "--json")
	var report struct {
		OK       bool
		Findings []advice
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		m.T.Fatalf("doctor: %v\n%s%s", err, out, said)
	}
	if report.OK != (status == 0) {
		m.T.Errorf("ok is %v with the exit status %d", report.OK, status)
	}
	return report.Findings, status
}

// run runs a program in the project, with mcphub in PATH.
func (m *sick) run(program string, args ...string) (stdout, stderr string, status int) {
	m.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*world.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	path := m.Path("bin") + string(os.PathListSeparator) + world.Bin.Dir + string(os.PathListSeparator) + os.Getenv("PATH")
	cmd.Dir, cmd.Env = m.Project, append(m.Env("PATH="+path, "MCPHUB_CONFIG="+m.hub, "XDG_RUNTIME_DIR="+m.Path("run"), "TMPDIR="+m.Path("tmp")), m.more...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("a-secret-value\n"), &out, &said
	err := cmd.Run()
	if cmd.ProcessState == nil {
		m.T.Fatal(err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// program writes a program of the shell into a folder of PATH.
func (m *sick) program(name, text string) string {
	m.T.Helper()
	path := m.Write(filepath.Join("bin", name), "#!/bin/sh\n"+text)
	world.Must(m.T, os.Chmod(path, 0o700))
	return path
}

// change edits hub.json.
func (m *sick) change(edit func(all obj)) {
	m.T.Helper()
	text, err := os.ReadFile(m.hub)
	world.Must(m.T, err)
	all := obj{}
	world.Must(m.T, json.Unmarshal(text, &all))
	edit(all)
	text, err = json.MarshalIndent(all, "", "  ")
	world.Must(m.T, err)
	world.Must(m.T, os.WriteFile(m.hub, text, 0o600))
}

// written returns what a cure says to write: `write "key": VALUE`.
func written(t *testing.T, cure string) (key string, value any) {
	t.Helper()
	_, rest, found := strings.Cut(cure, `write "`)
	if !found {
		t.Fatalf("the cure says not what to write: %s", cure)
	}
	key, rest, _ = strings.Cut(rest, `": `)
	if err := json.NewDecoder(strings.NewReader(rest)).Decode(&value); err != nil {
		t.Fatalf("the cure says not what to write: %s: %v", cure, err)
	}
	return key, value
}

// inEntry follows a cure that says what to write into the entry of a server.
func inEntry(m *sick, a advice) {
	key, value := written(m.T.(*testing.T), a.Cure)
	m.change(func(all obj) { all["mcpServers"].(obj)[a.Subject].(obj)[key] = value })
}

// inBlock follows a cure that says what to write into another object of hub.json.
func inBlock(name string) func(m *sick, a advice) {
	return func(m *sick, a advice) {
		key, value := written(m.T.(*testing.T), a.Cure)
		m.change(func(all obj) { all[name].(obj)[key] = value })
	}
}

// byCommand follows a cure that is a command line, to the letter.
func byCommand(m *sick, a advice) {
	m.T.Helper()
	if a.Command == "" {
		m.T.Fatalf("the finding has no command: %+v", a)
	}
	if out, said, status := m.run("sh", "-c", a.Command); status != 0 {
		m.T.Fatalf("%s: exit status %d\n%s%s", a.Command, status, out, said)
	}
}

// offlineNpx is an npx that has its package once the network was there.
const offlineNpx = `if [ ! -e "$HOME/cached" ]; then
	if [ ! -e "$HOME/network" ]; then
		echo "npm error code ENOTCACHED" >&2
		echo "npm error request to https://registry.npmjs.org/hello failed: cache mode is 'only-if-cached' but no cached response is available." >&2
		exit 1
	fi
	: > "$HOME/cached"
fi
exec mcphub files .
`

// TestDoctorFindsAndMends makes a machine wrong in many ways, one after the other. doctor finds each; what it says mends it,
// followed to the letter, and then doctor finds it no more.
func TestDoctorFindsAndMends(t *testing.T) {
	t.Parallel()
	world.Hub(t)
	files := obj{"builtin": "files"}
	shell := func(text string) obj { return obj{"command": "/bin/sh", "args": []any{"-c", text}, "local": true} }
	for _, tc := range []struct {
		name           string
		servers        obj
		more           obj
		wrong          func(m *sick)
		group, subject string
		says           string // of the finding
		mend           func(m *sick, a advice)
	}{
		{"a program that is not in PATH", obj{"git": obj{"command": "mcp-git-server"}}, nil, func(m *sick) {
			m.Write("home/.local/bin/mcp-git-server", "#!/bin/sh\nexec mcphub files .\n")
			world.Must(m.T, os.Chmod(m.Path("home", ".local", "bin", "mcp-git-server"), 0o700))
		}, "configuration", "git", "was not found in PATH", inEntry},
		{"an interpreter that was moved", obj{"git": obj{"command": "/opt/node-18/bin/node-for-test"}}, nil, func(m *sick) {
			m.program("node-for-test", "exec mcphub files .\n")
		}, "configuration", "git", "is not an executable file", inEntry},
		{"a program that may not be executed", obj{"git": obj{"command": "$DIR/bin/tool"}}, nil, func(m *sick) {
			world.Must(m.T, os.Chmod(m.program("tool", "exec mcphub files .\n"), 0o600))
		}, "configuration", "git", "is not an executable file", byCommand},
		{"a working directory that is not there", obj{"git": obj{"command": "mcphub", "args": []any{"files", "."}, "cwd": "$DIR/work/here"}}, nil, nil,
			"configuration", "git", "there is no folder", byCommand},
		{"an interpreter that is too old", obj{"old": obj{"command": "node-for-test", "args": []any{"$DIR/pkg/server.js"}}}, nil, func(m *sick) {
			m.Write("pkg/package.json", `{"name": "server", "engines": {"node": ">=20.1 <21 || ^22.3"}}`)
			m.Write("pkg/server.js", "")
			world.Must(m.T, os.MkdirAll(m.Path("old"), 0o700))
			m.Write("old/node", "#!/bin/sh\nif [ \"$1\" = --version ]; then echo v16.20.2; exit; fi\necho 'SyntaxError: Unexpected token' >&2\nexit 1\n")
			world.Must(m.T, os.Chmod(m.Path("old", "node"), 0o700))
			m.Write("new/node", "#!/bin/sh\nif [ \"$1\" = --version ]; then echo v22.4.0; exit; fi\nexec mcphub files .\n")
			world.Must(m.T, os.Chmod(m.Path("new", "node"), 0o700))
			m.change(func(all obj) { all["mcpServers"].(obj)["old"].(obj)["command"] = m.Path("old", "node") })
		}, "servers", "old", "is node 16.20.2, and .*/pkg/package.json wants >=20.1 <21 || ^22.3", func(m *sick, a advice) {
			if !strings.Contains(a.Cure, `install node >=20.1 <21 || ^22.3, and write its absolute path as "command"`) {
				m.T.Fatal(a.Cure)
			}
			m.change(func(all obj) { all["mcpServers"].(obj)["old"].(obj)["command"] = m.Path("new", "node") })
		}},
		{"a package that is not there, without a network", obj{"hello": obj{"command": "npx", "args": []any{"-y", "hello"}, "sandbox": "off"}}, nil, func(m *sick) {
			m.program("npx", offlineNpx)
		}, "servers", "hello", "exited with status 1", func(m *sick, a advice) {
			if !strings.Contains(a.Cure, "connect to the network once") {
				m.T.Fatal(a.Cure)
			}
			m.Write("home/network", "")
			byCommand(m, a)
			world.Must(m.T, os.Remove(m.Path("home", "network")))
		}},
		{"a handshake that takes too long", obj{"slow": shell("sleep 5; exec mcphub files .")}, nil, func(m *sick) {
			m.change(func(all obj) { all["mcpServers"].(obj)["slow"].(obj)["timeout"] = obj{"start": "4s"} })
		}, "servers", "slow", "did not start within 4s", inEntry},
		{"a server that ends at once", obj{"broken": shell("echo 'config.yaml: no such profile' >&2; exit 3")}, nil, nil,
			"servers", "broken", "exited with status 3", byCommand},
		{"a server that wants a variable of the hub", obj{"api": shell(`[ -n "$SEARCH_API_KEY" ] || { echo "Error: SEARCH_API_KEY environment variable is required" >&2; exit 1; }; exec mcphub files .`)}, nil, func(m *sick) {
			m.more = append(m.more, "SEARCH_API_KEY=0123")
		}, "servers", "api", "exited with status 1", inEntry},
		{"noise on stdout", obj{"noisy": shell("if [ ! -e $HOME/quiet ]; then echo starting up; fi; exec mcphub files .")}, nil, nil,
			"servers", "noisy", "lines to stdout that are no messages", func(m *sick, a advice) {
				if !strings.Contains(a.Cure, "log to stderr") {
					m.T.Fatal(a.Cure)
				}
				m.Write("home/quiet", "")
			}},
		{"names beyond what clients take", obj{"files": obj{"builtin": "files", "prefix": "the_files_of_my_own_machine_and_of_all_projects_on_it_"}}, obj{"names": obj{"max": 128}}, nil,
			"servers", "files", "longer than 50 bytes", inBlock("names")},
		{"a variable that is not set", obj{"files": files, "db": obj{"command": "mcphub", "args": []any{"files", "."}, "env": obj{"PGPASSWORD": "${DB_PASSWORD_FOR_TEST}"}}}, nil, nil,
			"configuration", "db", "the variable DB_PASSWORD_FOR_TEST is not set", func(m *sick, a advice) {
				if !strings.Contains(a.Cure, "set it for the hub") {
					m.T.Fatal(a.Cure)
				}
				m.more = append(m.more, "DB_PASSWORD_FOR_TEST=x")
			}},
		{"a secret that is not set", obj{"git": obj{"command": "mcphub", "args": []any{"files", "."}, "env": obj{"TOKEN": "${keyring:GIT_TOKEN}"}}}, obj{"secrets": obj{"store": "file"}}, nil,
			"configuration", "git", `the secret "GIT_TOKEN" is not set`, byCommand},
		{"a hub.json that others may change", obj{"files": files}, nil, func(m *sick) { world.Must(m.T, os.Chmod(m.hub, 0o666)) },
			"configuration", "", "others may change", byCommand},
		{"a hub.json with a secret that others may read", obj{"git": obj{"command": "mcphub", "args": []any{"files", "."}, "env": obj{"GITHUB_TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}}}, nil, func(m *sick) {
			world.Must(m.T, os.Chmod(m.hub, 0o644))
		}, "configuration", "", "others may read", byCommand},
		{"a root that is not there", obj{"files": files}, obj{"roots": obj{"fallback": []any{"$DIR/projects/mine", "$DIR/project"}}}, nil,
			"configuration", "", "it is no root: it does not exist", byCommand},
		{"a client without the hub", obj{"files": files}, nil, func(m *sick) { m.Write("home/.cursor/mcp.json", `{"mcpServers": {}}`) },
			"clients", "cursor", "the hub is not registered in it", byCommand},
		{"a client that starts a program which is gone", obj{"files": files}, nil, func(m *sick) {
			m.Write("home/.cursor/mcp.json", `{"mcpServers": {"mcphub": {"command": "/opt/old/mcphub", "args": ["serve"]}}}`)
		}, "clients", "cursor", "/opt/old/mcphub, and nothing is there", byCommand},
		{"a port that another program has", obj{"files": files}, obj{"http": obj{"listen": "127.0.0.1:0"}}, func(m *sick) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			world.Must(m.T, err)
			m.T.Cleanup(func() { _ = l.Close() })
			m.change(func(all obj) { all["http"].(obj)["listen"] = l.Addr().String() })
		}, "system", "", "another program listens on", inBlock("http")},
		{"an audit log that cannot be written", obj{"files": files}, nil, func(m *sick) { m.Write("home/state/mcphub/audit", "") },
			"system", "", "/audit of the audit log cannot be written", byCommand},
		{"a folder of sockets that others may look into", obj{"files": files}, nil, func(m *sick) {
			world.Must(m.T, os.MkdirAll(m.Path("run", "mcphub"), 0o700))
			world.Must(m.T, os.Chmod(m.Path("run", "mcphub"), 0o777))
		}, "hubs", "", "is open to other users", byCommand},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newSick(t)
			all := obj{"mcpServers": tc.servers}
			for k, v := range tc.more {
				all[k] = v
			}
			text, err := json.Marshal(all)
			world.Must(t, err)
			m.hub = m.Write("home/config/mcphub/hub.json", strings.ReplaceAll(string(text), "$DIR", m.Dir))
			if tc.wrong != nil {
				tc.wrong(m)
			}
			found, _ := m.doctor()
			a, ok := findingOf(found, tc.group, tc.subject, tc.says)
			if !ok {
				t.Fatalf("doctor does not find it: %+v", found)
			}
			if a.Cure == "" && a.Command == "" {
				t.Errorf("it has no cure: %+v", a)
			}
			tc.mend(m, a)
			found, status := m.doctor()
			for _, left := range found {
				if left.Severity != "note" {
					t.Errorf("after %q %q there is still %+v", a.Cure, a.Command, left)
				}
			}
			if status != 0 {
				t.Errorf("exit status %d", status)
			}
			if out, said, _ := m.run(world.Hub(t), "doctor"); strings.Count(out+said, "\n") != 1 || !strings.HasPrefix(out, "ok: ") {
				t.Errorf("it says %q %q where all is well", out, said)
			}
		})
	}
}

// findingOf returns the finding of that group and subject that says something.
func findingOf(found []advice, group, subject, says string) (advice, bool) {
	for _, a := range found {
		if a.Group == group && a.Subject == subject && contains(a.Text, says) {
			return a, true
		}
	}
	return advice{}, false
}

// contains matches a text in which .* stands for anything.
func contains(text, says string) bool {
	for part := range strings.SplitSeq(says, ".*") {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// TestDoctorOfARunningHub: a hub that goes on with an older hub.json, and a server that it has given up.
func TestDoctorOfARunningHub(t *testing.T) {
	t.Parallel()
	m := newSick(t)
	m.hub = m.Write("home/config/mcphub/hub.json", `{"mcpServers": {"once": {"command": "/bin/sh", "args": ["-c", "[ -e $HOME/well ] || exit 3; exec mcphub files ."], "local": true}}}`)
	ctx, stop := context.WithCancel(context.Background())
	hub := exec.CommandContext(ctx, world.Hub(t), "serve")
	path := m.Path("bin") + string(os.PathListSeparator) + world.Bin.Dir + string(os.PathListSeparator) + os.Getenv("PATH")
	hub.Dir, hub.Env = m.Project, m.Env("PATH="+path, "MCPHUB_CONFIG="+m.hub, "XDG_RUNTIME_DIR="+m.Path("run"), "TMPDIR="+m.Path("tmp"))
	in, err := hub.StdinPipe()
	world.Must(t, err)
	world.Must(t, hub.Start())
	t.Cleanup(func() {
		_ = in.Close() // its client has gone
		_ = hub.Wait()
		stop()
	})
	_, err = fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"someone","version":"1"}}}`)
	world.Must(t, err)
	_, err = fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	world.Must(t, err)

	// Five failures in a row, and it is not started again by itself.
	m.awaits(`"circuitOpen":true`)
	found, _ := m.doctor()
	a, ok := findingOf(found, "hubs", fmt.Sprint(m.pid()), "has given up the server once after 5 failures")
	if !ok {
		t.Fatalf("doctor does not find the server that was given up: %+v", found)
	}
	m.Write("home/well", "")
	if want := "mcphub restart once"; a.Command != want {
		t.Errorf("the cure is %q, want %q", a.Command, want)
	}
	byCommand(m, a)
	m.awaits(`"state":"ready"`)
	if found, status := m.doctor(); status != 0 {
		t.Errorf("after %s there is still %+v", a.Command, found)
	}

	text, err := os.ReadFile(m.hub)
	world.Must(t, err)
	world.Must(t, os.WriteFile(m.hub, append(text, '}'), 0o600))
	m.awaits(`"errorAt"`)
	found, status := m.doctor()
	if a, ok = findingOf(found, "hubs", fmt.Sprint(m.pid()), "goes on with an older hub.json"); !ok || status != 3 {
		t.Fatalf("doctor does not find that hub.json is not read, exit status %d: %+v", status, found)
	}
	world.Must(t, os.WriteFile(m.hub, text, 0o600))
	m.until(func(status string) bool { return !strings.Contains(status, `"errorAt"`) })
	if found, status := m.doctor(); status != 0 {
		t.Errorf("after hub.json was mended there is still %+v", found)
	}
}

// awaits waits until status says something.
func (m *sick) awaits(says string) {
	m.T.Helper()
	m.until(func(status string) bool { return strings.Contains(status, says) })
}

func (m *sick) until(holds func(status string) bool) {
	m.T.Helper()
	last := ""
	for deadline := time.Now().Add(2 * world.WaitLimit); time.Now().Before(deadline); {
		if last, _, _ = m.run(world.Hub(m.T), "status", "--json"); holds(last) {
			return
		}
	}
	m.T.Fatalf("status says\n%s", last)
}

// pid returns the pid of the hub that runs.
func (m *sick) pid() int {
	m.T.Helper()
	out, _, _ := m.run(world.Hub(m.T), "status", "--json")
	var all struct{ Hubs []struct{ PID int } }
	world.Must(m.T, json.Unmarshal([]byte(out), &all))
	if len(all.Hubs) != 1 {
		m.T.Fatalf("not one hub runs: %s", out)
	}
	return all.Hubs[0].PID
}
