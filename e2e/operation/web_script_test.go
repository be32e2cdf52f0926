package operation

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"mcphub/e2e/world"
)

// webs are the commands of scripts about HTTP: "web CONFIG [FLAG...]" starts a hub and sets WEB to its address; "lists STATUS PATTERN PATH
// TOKEN [CLIENT]" asks a hub there for its tools, as a client of 2026-07-28 that calls itself so, and "gets STATUS PATTERN PATH" gets a page.
// PATTERN is matched with the answer; with ! before the command it must not match.
func webs() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){"web": startWeb, "lists": listOverWeb, "gets": getOverWeb}
}

func startWeb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: web CONFIG [FLAG...]")
	}
	cmd := exec.Command(world.Bin.Hub, append([]string{"serve", "--http", "127.0.0.1:0", "--config", args[0]}, args[1:]...)...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "ALICE_TOKEN", "BOB_TOKEN"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	said, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, said)
		if err := cmd.Wait(); err != nil {
			ts.Logf("the hub ended with %v", err)
		}
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "serving "); ok {
			ts.Setenv("WEB", strings.TrimSuffix(address, "/mcp"))
			return
		}
	}
	ts.Fatalf("the hub says no address: %v", lines.Err())
}

func listOverWeb(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: lists STATUS PATTERN PATH TOKEN [CLIENT]")
	}
	client := ""
	if len(args) > 4 {
		client = args[4]
	}
	const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"}}`
	r, err := http.NewRequest(http.MethodPost, ts.Getenv("WEB")+args[2], strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":`+fmt.Sprintf(meta, client)+`}}`))
	ts.Check(err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"} {
		r.Header.Set(name, value)
	}
	if args[3] != "" {
		r.Header.Set("Authorization", "Bearer "+args[3])
	}
	wantAnswer(ts, neg, r, args)
}

func getOverWeb(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: gets STATUS PATTERN PATH")
	}
	r, err := http.NewRequest(http.MethodGet, ts.Getenv("WEB")+args[2], nil)
	ts.Check(err)
	wantAnswer(ts, neg, r, args)
}

// wantAnswer makes a request, whose answer has to have the status and the pattern of args.
func wantAnswer(ts *testscript.TestScript, neg bool, r *http.Request, args []string) {
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	answer, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	ts.Check(err)
	if answer.StatusCode != status || pattern.Match(text) == neg {
		ts.Fatalf("%s: %d %s, want %d and %q: %v", r.URL, answer.StatusCode, text, status, args[1], !neg)
	}
}
