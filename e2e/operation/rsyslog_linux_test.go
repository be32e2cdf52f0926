package operation

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/trusttest"
	"mcphub/e2e/world"
)

// converse starts a hub over stdio for a client that is called "asker", and returns what sends it a message and waits for the answer, and what ends it.
func converse(t *testing.T, w *world.World, hub string, env []string, args ...string) (say func(frame string), end func()) {
	t.Helper()
	cmd := exec.Command(hub, append([]string{"serve"}, args...)...)
	cmd.Env, cmd.Dir = w.Env(env...), w.Home
	in, out := world.Converse(t, cmd)
	answers := bufio.NewScanner(out)
	say = func(frame string) {
		_, err := io.WriteString(in, frame+"\n")
		world.Must(t, err)
		for strings.Contains(frame, `"id":`) && answers.Scan() && !strings.Contains(answers.Text(), `"result":`) {
			continue
		}
	}
	say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"asker","version":"7"}}}`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return say, func() { world.Must(t, in.(io.Closer).Close()) }
}

// echoOf returns a call with a path, and a text.
func echoOf(id int, path, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"rec__echo","arguments":{"text":%q,"path":%q}}}`, id, text, path)
}

// recordOf returns the lines of the logs of a world.
func recordOf(t *testing.T, w *world.World) (lines string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.AuditDir(), "*.jsonl"))
	world.Must(t, err)
	for _, path := range paths {
		if filepath.Base(path) != "chain.jsonl" {
			b, err := os.ReadFile(path)
			world.Must(t, err)
			lines += string(b)
		}
	}
	return lines
}

// TestRsyslogHasTheChain: rsyslog with the example, over TCP and over TLS, has each line of the record byte for byte: of calls before it was there, a denial, a long line, the last line.
func TestRsyslogHasTheChain(t *testing.T) {
	t.Parallel()
	program := needs.Program(t, "rsyslogd")
	for _, network := range []string{"tcp", "tls"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			address := "127.0.0.1:" + world.FreePort(t)
			_, port, err := net.SplitHostPort(address)
			world.Must(t, err)
			got, syslog := w.Path("got.jsonl"), obj{"address": network + "://" + address}
			example, err := os.ReadFile(world.Source("docs", "examples", "rsyslog.conf"))
			world.Must(t, err)
			text := string(example)
			change := func(from, to string) {
				if !strings.Contains(text, from) {
					t.Fatalf("docs/examples/rsyslog.conf has no %s", from)
				}
				text = strings.Replace(text, from, to, 1)
			}
			change(`global(max`, fmt.Sprintf(`global(workDirectory=%q max`, w.Path()))
			change(`port="6514"`, fmt.Sprintf(`port=%q address="127.0.0.1"`, port))
			change("/var/log/mcphub.jsonl", got)
			if network == "tls" {
				if found, _ := filepath.Glob("/usr/lib/*/rsyslog/lmnsd_ossl.so"); len(found) == 0 {
					needs.Missing(t, "needs TLS of rsyslog: apt-get install rsyslog-openssl")
				}
				authority := trusttest.New(t)
				syslog["ca"] = authority.File()
				cert, key := authority.Files(t.TempDir(), authority.Issue("127.0.0.1"))
				change("/etc/mcphub-logs/ca.pem", authority.File())
				change("/etc/mcphub-logs/cert.pem", cert)
				change("/etc/mcphub-logs/key.pem", key)
			} else {
				begin, end := strings.Index(text, "global(defaultNet"), strings.Index(text, "input(")
				change(text[begin:end], "module(load=\"imtcp\")\n")
			}
			conf := w.Write("rsyslog.conf", text)
			config := w.Write("hub.json", world.Raw(t, obj{"mcpServers": obj{"rec": w.Recorder("rec")}, "audit": obj{"syslog": syslog, "arguments": true}}))
			root := w.Path("root")
			world.Must(t, os.MkdirAll(root, 0o755))
			say, end := converse(t, w, world.Hub(t), nil, "--config", config, "--roots", root)
			say(echoOf(1, filepath.Join(root, "a"), "é \"quoted\" \\ \t"))

			cmd := exec.Command(program, "-n", "-i", "NONE", "-f", conf)
			world.Must(t, cmd.Start())
			t.Cleanup(func() {
				world.Must(t, cmd.Process.Signal(syscall.SIGTERM)) // it ignores an interrupt
				_ = cmd.Wait()                                     // of a signal
			})
			say(echoOf(2, "/etc/passwd", strings.Repeat("long ", 4000)))
			has := func(part string) bool {
				text, _ := os.ReadFile(got)
				return strings.Contains(string(text), part)
			}
			if !world.Within(world.WaitLimit, func() bool { return has(`"decision":"deny"`) && has(`"decision":"allow"`) }) {
				text, _ := os.ReadFile(got)
				t.Fatalf("it has no line of both calls: %s", text)
			}
			end()
			var lines, written string
			if !world.Within(world.WaitLimit, func() bool {
				lines = recordOf(t, w)
				b, _ := os.ReadFile(got)
				written = string(b)
				return strings.Contains(lines, `"kind":"close"`) && written == lines
			}) {
				t.Errorf("it has\n%s\nand the file\n%s", written, lines)
			}
		})
	}
}
