package world

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Update has tests write what they otherwise compare with.
var Update = flag.Bool("update", false, "write docs/conformance.md, docs/session.md and testdata/printed as the tests see them")

// withoutDrain has a hub end at once: no one spreads clients among the ones of a test.
const withoutDrain = "MCPHUB_HTTP__DRAIN=0s"

// Listen starts a program that says on stderr at which address it serves, and gives that address. When the test ends it is asked to end,
// must do so in time and cleanly, and may leave nothing.
func (w *World) Listen(name, program string, args ...string) string {
	w.T.Helper()
	cmd := exec.Command(program, args...)
	mark := fmt.Sprintf("XDG_MCPHUB_E2E=%s#%s;", w.Dir, name)
	cmd.Env, cmd.Dir = w.Env(mark, withoutDrain), w.Home
	stdin, err := cmd.StdinPipe()
	Must(w.T, err)
	stderr, err := cmd.StderrPipe()
	Must(w.T, err)
	Must(w.T, cmd.Start())
	address, ended := make(chan string, 1), make(chan []string, 1)
	go func() {
		var said []string
		for s := bufio.NewScanner(stderr); s.Scan(); said = append(said, s.Text()) {
			if _, at, ok := strings.Cut(s.Text(), ": serving http://"); ok {
				address <- "http://" + at
			}
		}
		ended <- said
	}()
	w.T.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(StopBound+WaitLimit, func() { _ = cmd.Process.Kill() })
		said := <-ended
		// The fixture has no ear for the signal and may end by it; the hub ends well.
		if err := cmd.Wait(); !late.Stop() || err != nil && program != Bin.Fixture {
			w.T.Errorf("%s ended: %v", name, err)
		}
		WantNone(w.T, mark)
		if w.T.Failed() {
			w.T.Logf("%s said:\n%s", name, strings.Join(said, "\n"))
		}
	})
	select {
	case at := <-address:
		w.KnowToken(cmd, at)
		return at
	case <-time.After(WaitLimit):
		w.T.Fatalf("%s does not say where it serves", name)
	}
	return ""
}

// ServeHTTP runs the hub over HTTP for the length of a test and gives the
// address of its endpoint.
func (w *World) ServeHTTP(config string, env ...string) string {
	w.T.Helper()
	return w.Listening(exec.Command(Hub(w.T), "serve", "--http", "127.0.0.1:0", "--config", config), regexp.MustCompile(`serving (http://\S+/mcp)`), env...)
}

// Listening runs a server for the length of a test and waits until it has said
// on stdout or stderr at which address it listens.
func (w *World) Listening(cmd *exec.Cmd, where *regexp.Regexp, env ...string) string {
	w.T.Helper()
	return w.ListeningIn(w.Home, cmd, where, env...)
}

// ListeningIn is listening in a directory.
func (w *World) ListeningIn(dir string, cmd *exec.Cmd, where *regexp.Regexp, env ...string) string {
	w.T.Helper()
	cmd.Env, cmd.Dir = w.Env(append([]string{withoutDrain}, env...)...), dir
	said, err := cmd.StderrPipe()
	Must(w.T, err)
	cmd.Stdout = cmd.Stderr
	Must(w.T, cmd.Start())
	found := make(chan string, 1)
	var log bytes.Buffer
	var read sync.WaitGroup
	read.Go(func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if w.Heard != nil {
				w.Heard(lines.Text())
			}
			if m := where.FindStringSubmatch(lines.Text()); m != nil && len(found) == 0 {
				found <- m[1]
			}
		}
	})
	w.T.Cleanup(func() {
		stop := cmd.Process.Kill
		if runtime.GOOS != "windows" {
			stop = func() error { return cmd.Process.Signal(os.Interrupt) }
		}
		if err := stop(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			w.T.Error(err)
		}
		late := time.AfterFunc(WaitLimit, func() {
			w.T.Errorf("%s does not end", cmd.Path)
			_ = cmd.Process.Kill()
		})
		read.Wait()
		_ = cmd.Wait()
		late.Stop()
		if w.T.Failed() {
			w.T.Logf("%s said:\n%s", filepath.Base(cmd.Path), log.Bytes())
		}
	})
	select {
	case at := <-found:
		w.KnowToken(cmd, at)
		return at
	case <-time.After(WaitLimit):
		w.T.Fatalf("%s does not listen", cmd.Path)
		return ""
	}
}

// CallGoSDK calls a tool and gives the texts of its result.
func CallGoSDK(t testing.TB, s *gosdk.ClientSession, tool string, args obj, token any) (string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*WaitLimit)
	defer cancel()
	p := &gosdk.CallToolParams{Name: tool, Arguments: args}
	if token != nil {
		p.SetProgressToken(token)
	}
	r, err := s.CallTool(ctx, p)
	if err != nil {
		t.Errorf("%s: %v", tool, err)
		return "", true
	}
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*gosdk.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String(), r.IsError
}

// WholeBody reads what is posted before it hands a request on. A test's httputil.ReverseProxy needs it: while the proxy still
// looks for the end of a body, it breaks off an answer that comes that fast.
func WholeBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// FreePort returns a port on which no program listens, and holds it until the test ends. If a program asks the system for any port,
// the port is above 30000, as systems are set up. Other tests see that the same port of UDP is taken.
func FreePort(t testing.TB) string {
	t.Helper()
	for range ports {
		port := strconv.Itoa(20000 + (os.Getpid()+int(asked.Add(1)))%ports)
		taken, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		ln, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			_ = taken.Close()
			continue
		}
		_ = ln.Close()
		t.Cleanup(func() { _ = taken.Close() })
		return port
	}
	t.Fatal("no port is free")
	return ""
}

const ports = 10_000 // from which FreePort chooses

var asked atomic.Int64 // how often FreePort has looked at one

// WithKey returns the entry with one more key.
func WithKey(entry obj, key string, value any) obj {
	entry[key] = value
	return entry
}
