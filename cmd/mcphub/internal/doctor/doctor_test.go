package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/consent"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/client"
	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/printable"
)

func TestSatisfies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		version, wants string
		fits, known    bool
	}{
		{"22.4.0", ">=18", true, true},
		{"16.20.2", ">=18", false, true},
		{"18.0.0", ">=18.0.0", true, true},
		{"20.0.9", ">= 20.1", false, true},
		{"20.1.0", ">=20.1 <21 || ^22.3", true, true},
		{"21.0.0", ">=20.1 <21 || ^22.3", false, true},
		{"22.4.1", ">=20.1 <21 || ^22.3", true, true},
		{"23.0.0", "^22.3", false, true},
		{"18.19.5", "18.x", true, true},
		{"19.0.0", "18.x", false, true},
		{"18.19.5", "18", true, true},
		{"18.19.5", "~18.19.1", true, true},
		{"18.20.0", "~18.19.1", false, true},
		{"18.20.0", "*", true, true},
		{"18.20.0", ">18", false, true},
		{"19.0.0", ">18", true, true},
		{"18.20.0", "<=18", true, true},
		{"20.1.0", "v20", true, true},
		{"20.1.0", ">=20.0.0-rc.1", true, true},
		{"18.20.0", "16 - 18", false, false},
		{"18.20.0", "lts/*", false, false},
		{"3.9.2", ">=3.10,<4", false, true},
		{"3.12.1", ">=3.10,<4", true, true},
		{"3.12.1", ">=3.10, !=3.12.*", false, true},
		{"3.11.1", "~=3.10", true, true},
		{"4.0.0", "~=3.10", false, true},
		{"3.10.4", "~=3.10.2", true, true},
		{"3.11.0", "~=3.10.2", false, true},
		{"3.11.0", "==3.11.*", true, true},
	} {
		if fits, known := satisfiesRange(tc.version, tc.wants); fits != tc.fits || known != tc.known {
			t.Errorf("%s in %q: %v, known %v; want %v, %v", tc.version, tc.wants, fits, known, tc.fits, tc.known)
		}
	}
}

// TestDiagnose: what servers say when they fail, and what helps.
func TestDiagnose(t *testing.T) {
	pkg := t.TempDir()
	if err := os.WriteFile(filepath.Join(pkg, "package.json"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HUB_HAS_THIS", "x")
	for _, tc := range []struct {
		name, why, stderr string
		cure, command     string
	}{
		{"slow", `did not start within 1m0s: it has not answered the handshake; raise "timeout": {"start": ...} of this server where that is too short`, "", `write "timeout": {"start": "2m0s"} into its entry`, ""},
		{"secret", `the secret "A_KEY" is not set; mcphub secret set A_KEY`, "", "set it", "mcphub secret set A_KEY"},
		{"offline", "exited with status 1 while starting", "npm error code ENOTCACHED\nnpm error request failed", "connect to the network once", "mcphub warm"},
		{"offline uv", "exited with status 1 while starting", "error: Network connectivity is disabled, but the requested data was not found", "connect to the network once", "mcphub warm"},
		{"no such package", "exited with status 1 while starting", "npm ERR! code E404\nnpm ERR! 404 Not Found", `correct it in "args"`, ""},
		{"module of node", "exited with status 1 while starting", "Error: Cannot find module 'zod'", "install zod where the server is", "npm install --prefix " + pkg},
		{"file of node", "exited with status 1 while starting", "Error: Cannot find module '" + filepath.Join(pkg, "gone.js") + "'", "there is no file " + filepath.Join(pkg, "gone.js"), ""},
		{"module of python", "exited with status 1 while starting", "ModuleNotFoundError: No module named 'mcp'", "install mcp where the server is", ""},
		{"module of python -m", "exited with status 1 while starting", "/usr/bin/python3: No module named mcp_server", "install mcp_server where the server is", ""},
		{"a name that would be a flag", "exited with status 1 while starting", `the secret "--config=/tmp/x" is not set`, "correct its entry by what it says", "mcphub disable my-srv"},
		{"token", "401 Unauthorized", "", `"Bearer ${keyring:MY_SRV_TOKEN}"`, "mcphub secret set MY_SRV_TOKEN"},
		{"nobody there", `Post "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused`, "", "start that server", ""},
		{"variable", "exited with status 1 while starting", "Error: BRAVE_API_KEY environment variable is required", `write "env": {"BRAVE_API_KEY": "..."}`, ""},
		{"variable of python", "exited with status 1 while starting", "KeyError: 'NOTION_TOKEN'", `write "env": {"NOTION_TOKEN": "..."}`, ""},
		{"variable that the hub has", "exited with status 1 while starting", "HUB_HAS_THIS is not set", `write "inherit": ["HUB_HAS_THIS"]`, ""},
		{"anything", "exited with status 70 while starting", "boom", "correct its entry by what it says", "mcphub disable my-srv"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := &examination{Options: Options{Source: &setup.Source{}}}
			f := Finding{Text: tc.why}
			diagnoseFailure(&f, spec.Spec{Name: "my-srv", Args: []string{filepath.Join(pkg, "index.js")}}, &status.Child{Stderr: tc.stderr}, e)
			if !strings.Contains(f.Cure, tc.cure) || f.Command != tc.command {
				t.Errorf("cure  %q\nrun   %q\nwant  %q\n      %q", f.Cure, f.Command, tc.cure, tc.command)
			}
		})
	}
	// Where a hub.json was named, the commands name it too.
	e := &examination{Options: Options{Source: &setup.Source{Config: "/my hub.json"}}}
	if got, want := e.commandLine("warm"), "mcphub warm --config "+printable.CommandLine([]string{"/my hub.json"}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLastWords: the error comes before the trace that follows it.
func TestLastWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ stderr, said, want string }{
		{"", "", ""},
		{"one\n\n two \x1b[31m\n", "", "one|two"},
		{"gone\n", "gone", ""},
		{"1\n2\n3\n4\n5\n6\n", "", "2|3|4|5|6"},
		{"TypeError: x\n2\n3\n4\n5\n6\n", "", "TypeError: x|3|4|5|6"},
		{"start\nError: Cannot find module 'zod'\n at a\n at b\n at c\n at d\n at e\nNode.js v20\n", "", "Error: Cannot find module 'zod'|at c|at d|at e|Node.js v20"},
	} {
		if got := strings.Join(lastWords(tc.stderr, tc.said), "|"); got != tc.want {
			t.Errorf("of %q: %q, want %q", tc.stderr, got, tc.want)
		}
	}
}

// TestExamineHTTP: servers elsewhere that want a login or a token, and the shape of JSON.
func TestExamineHTTP(t *testing.T) {
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		w.Header().Set("WWW-Authenticate", r.URL.Query().Get("by"))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	o := options(t, `{"mcpServers": {"far": {"url": "`+server.URL+`/mcp?by=Bearer&key=hidden-value"}, "key": {"url": "`+server.URL+`/mcp?by=Basic"}, "off": {"command": "x", "disabled": true}}}`)
	r, err := Examine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) == 0 {
		t.Error("the server was not asked")
	}
	for name, command := range map[string]string{"far": "mcphub auth login far", "key": "mcphub secret set KEY_TOKEN"} {
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Group == Servers && f.Subject == name })
		if i < 0 || r.OK {
			t.Fatalf("%s is not found: %+v", name, r)
		}
		if f := r.Findings[i]; f.Severity != "error" || f.Command != command+" --config "+printable.CommandLine([]string{o.Source.Config}) || !strings.Contains(f.At, "hub.json:1:") {
			t.Errorf("of %s it says %+v", name, f)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("hidden-value")) {
		t.Errorf("the address is shown whole: %s", text)
	}
	var shape map[string]any
	if err := json.Unmarshal(text, &shape); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"ok", "config", "findings", "servers", "clients", "hubs", "system"} {
		if _, there := shape[member]; !there {
			t.Errorf("%s is missing in %s", member, text)
		}
	}
	if len(r.Servers) != 3 || r.Servers[0].State != "failed" || r.Servers[2].State != "disabled" {
		t.Errorf("the servers are %+v", r.Servers)
	}
}

// TestExamineExchange: a server that only callers over HTTP can call is not asked, and that is no error. Control: the same server with another
// flow.
func TestExamineExchange(t *testing.T) {
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	for flow, state := range map[string]string{"exchange": "untried", "browser": "failed"} {
		o := options(t, `{"mcpServers": {"far": {"url": "`+server.URL+`/mcp", "auth": {"flow": "`+flow+`", "clientId": "hub"}}}, "http": {"resource": "https://hub.example/mcp", "issuers": [{"issuer": "https://login.example"}]}}`)
		o.Servers = []string{"far"}
		r, err := Examine(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.OK != (flow == "exchange") || r.Servers[0].State != state || (len(asked) == 0) != r.OK || r.OK && r.Findings[0].Severity != sevNote {
			t.Errorf("%s: asked %d times, found %+v", flow, len(asked), r)
		}
		for len(asked) > 0 {
			<-asked
		}
	}
}

// TestDefinitionsAreNamed: a definition that clients do not get, or get in another form, is a warning that names server, definition and member.
// "tools" of the entry leaves out only tools.
func TestDefinitionsAreNamed(t *testing.T) {
	var offered status.Child
	offered.State = children.Ready.String()
	offered.NotOffered = []status.Omission{{Tool: "t", Reason: "its member /inputSchema/type is not \"object\""}, {Tool: "prompt p", Reason: "its member /arguments is no list"}}
	offered.Mended = []status.Omission{{Tool: "u", Reason: "title is left out: it is null"}}
	o := options(t, `{"mcpServers": {}}`)
	e := &examination{Options: o, found: setup.CheckResult{Result: setup.Result{File: &config.File{}}}, report: &Report{}, signing: func() (none Signing) { return none }}
	var out Server
	e.reportServer(t.Context(), &out, &hub.Child{Spec: spec.Spec{Name: "kid"}}, &offered, nil)
	var said []string
	for _, f := range e.report.Findings {
		said = append(said, f.Subject+": "+f.Severity+": "+f.Text+"; "+f.Cure)
	}
	want := []string{
		`kid: warning: "t" of it is not offered: its member /inputSchema/type is not "object"; have its maker mend the definition, or leave the tool out: "tools": {"exclude": ["t"]}`,
		`kid: warning: "prompt p" of it is not offered: its member /arguments is no list; have its maker mend the definition`,
		`kid: warning: "u" of it is mended, since clients would refuse it: title is left out: it is null; have its maker mend the definition`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("it says %q", said)
	}
}

// TestExamineNoTools: a server that starts and does not list its tools is reported.
func TestExamineNoTools(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.Method == "initialize":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
		case m.ID != nil:
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"still indexing"}}`, m.ID)
		case m.Method == "":
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer server.Close()
	r, err := Examine(t.Context(), options(t, `{"mcpServers": {"far": {"url": "`+server.URL+`/mcp", "era": "legacy"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Subject == "far" && strings.Contains(f.Text, "still indexing") })
	if i < 0 || r.Findings[i].Severity != "warning" {
		t.Errorf("it found %+v", r.Findings)
	}
}

// TestExamineOne: a server that is named is examined alone, and one that there is
// not is told about.
func TestExamineOne(t *testing.T) {
	o := options(t, `{"mcpServers": {"a": {"command": "no-such-program-a"}, "b": {"command": "no-such-program-b"}}}`)
	o.Servers = []string{"b"}
	r, err := Examine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != 1 || r.Findings[0].Subject != "b" || len(r.Servers) != 1 || r.System != nil {
		t.Errorf("it found %+v", r)
	}
	o.Servers = []string{"c"}
	if _, err := Examine(t.Context(), o); exit.Status(err) != exit.NotFound || !strings.Contains(err.Error(), "mcphub list") {
		t.Errorf("a server that is not there: %v", err)
	}
}

// TestExamineEnds: with its context, while a server does not answer.
func TestExamineEnds(t *testing.T) {
	came := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // without that the end of the connection is not seen
		came <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	o := options(t, `{"mcpServers": {"far": {"url": "`+server.URL+`"}}}`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	if r, err := Examine(ctx, o); err == nil {
		t.Errorf("it was interrupted and says %+v", r)
	}
}

// TestReportOrder: errors of a group come before its warnings, groups in their order.
func TestReportOrder(t *testing.T) {
	t.Parallel()
	r := Report{Findings: []Finding{{Group: Hubs, Severity: sevError}, {Group: Servers, Severity: sevNote}, {Group: Servers, Severity: sevError}, {Group: Configuration, Severity: sevWarning}}}
	r.sortFindings()
	want := []Finding{{Group: Configuration, Severity: sevWarning}, {Group: Servers, Severity: sevError}, {Group: Servers, Severity: sevNote}, {Group: Hubs, Severity: sevError}}
	for i := range want {
		if r.Findings[i].Group != want[i].Group || r.Findings[i].Severity != want[i].Severity {
			t.Errorf("%d is %+v, want %+v", i, r.Findings[i], want[i])
		}
	}
	if r.OK {
		t.Error("it is ok with errors")
	}
}

// options returns the options of a machine of the test's own.
func options(t *testing.T, text string) Options {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "hub.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"HOME": dir, "USERPROFILE": dir, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": filepath.Join(dir, "state"), "XDG_CACHE_HOME": filepath.Join(dir, "cache"),
		"XDG_RUNTIME_DIR": "", "TMPDIR": dir, "LOCALAPPDATA": filepath.Join(dir, "state"), "MCPHUB_CONFIG": "",
	} {
		t.Setenv(name, value)
	}
	return Options{
		Source: &setup.Source{Config: file, Version: "test"}, Roots: []string{dir}, Timeout: time.Minute, Log: zerolog.Nop(),
		Clients: clients.Env{OS: runtime.GOOS, Home: dir, Get: os.Getenv}, Own: clients.Hub{Command: file},
	}
}

// TestKernelNote: what the kernel does not hold is a note, and only if a server is to be
// held.
func TestKernelNote(t *testing.T) {
	t.Parallel()
	confined := []hub.Child{{Spec: spec.Spec{Name: "a", Sandbox: sandbox.Settings{Mode: sandbox.Auto, Default: true}}}}
	for name, tc := range map[string]struct {
		kernel   sandbox.Kernel
		children []hub.Child
		want     string // of the note; "" there is none
	}{
		"all of it":         {sandbox.Kernel{ABI: 7, Filters: true, Drops: true}, confined, ""},
		"no Landlock":       {sandbox.Kernel{Why: "it is turned off"}, confined, "no kernel enforcement here: it is turned off"},
		"an old one":        {sandbox.Kernel{ABI: 2, Filters: true, Drops: true}, confined, "files outside can be truncated"},
		"nobody to be held": {sandbox.Kernel{Why: "it is turned off"}, []hub.Child{{Spec: spec.Spec{Name: "a"}}}, ""},
	} {
		e := examination{report: &Report{}}
		e.found.Hub.Children = tc.children
		e.examineKernel(tc.kernel)
		if tc.want == "" && len(e.report.Findings) == 0 {
			continue
		}
		if f := e.report.Findings; len(f) != 1 || tc.want == "" || f[0].Severity != sevNote || f[0].Group != System || !strings.Contains(f[0].Text, tc.want) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestSeatbeltIsTold: doctor tells whether macOS is asked to hold a server, and what came of the attempts to get out. It makes none if no entry asks.
func TestSeatbeltIsTold(t *testing.T) {
	t.Parallel()
	held := []hub.Child{{Spec: spec.Spec{Name: "a"}}, {Spec: spec.Spec{Name: "b", Sandbox: sandbox.Settings{Mode: sandbox.Auto}}}}
	for name, tc := range map[string]struct {
		children []hub.Child
		proof    error
		tried    bool
		want     string
	}{
		"no entry asks": {held[:1], nil, false, "not asked for, so no server is held"},
		"a way out":     {held, errors.New("a link leads out of it"), true, "asked for, and not used: a link leads out of it"},
		"no way out":    {held, nil, true, "not proved"},
	} {
		tried := false
		e := examination{report: &Report{}}
		e.found.Hub.Children = tc.children
		if got := e.examineSeatbelt(sandbox.Kernel{Seatbelt: func() error { tried = true; return tc.proof }}); !strings.Contains(got, tc.want) || tried != tc.tried {
			t.Errorf("%s: %q, tried %t", name, got, tried)
		}
	}
	e := examination{}
	if got := e.examineSeatbelt(sandbox.Kernel{ABI: 7}); got != "" {
		t.Errorf("elsewhere: %q", got)
	}
}

// TestNamesAreShortened: the cure is one that helps. Without a prefix a shorter one does not; and
// of names that are as their server gave them nothing is said.
func TestNamesAreShortened(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{"": `write "max": 128 under "names"`, "kid__": `give the server a shorter "prefix"`} {
		var said []string
		e := examination{report: &Report{}}
		e.found.File = &config.File{}
		e.checkNames(&hub.Child{Prefix: prefix}, []client.Tool{{Name: prefix + "a", ToolName: "a"}, {Name: "bb_0123", ToolName: "bbb"}}, func(_, text, cure string) { said = append(said, text+"; "+cure) })
		if len(said) != 1 || !strings.HasPrefix(said[0], "the names of 1 tools are shortened, such as bb_0123; "+want) || len(e.report.Findings) != 0 {
			t.Errorf("prefix %q: %q, %v", prefix, said, e.report.Findings)
		}
	}
}

// TestWhatWaitsIsNamed: each question with the command that answers it; that of hub.json itself once, and before any server is
// tried; and what cannot be read.
func TestWhatWaitsIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "hub.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	store := consent.NewFor(filepath.Join(dir, "state"), "")
	findings := func(s *setup.Source) (all []Finding, waits bool) {
		t.Helper()
		e := examination{Options: Options{Source: s}, report: &Report{}}
		waits = e.waitsForPerson()
		return e.report.Findings, waits
	}
	s := &setup.Source{Config: path, Consent: store}
	if all, waits := findings(s); len(all) > 0 || waits {
		t.Fatalf("nothing waits: %v", all)
	}
	if err := store.Ask(consent.Item{ID: "name /x", Title: "/x led to /y and leads to /z now", Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	all, waits := findings(s)
	if len(all) != 1 || waits || all[0].Text != "waits for a person: /x led to /y and leads to /z now" || all[0].Command != "mcphub reload" || all[0].Severity != sevWarning {
		t.Errorf("a link: %+v, hub.json waits: %t", all, waits)
	}
	r := store.Reach()
	defer r.Close()
	if err := r.Add(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"new": {"command": "sh"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	all, waits = findings(s)
	if len(all) != 2 || !waits || !strings.Contains(all[0].Text, path+" has changed") && !strings.Contains(all[1].Text, path+" has changed") {
		t.Errorf("hub.json: %+v, it waits: %t", all, waits)
	}
	folder, err := store.Folder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "asked", "torn.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, _ = findings(s)
	if !slices.ContainsFunc(all, func(f Finding) bool {
		return strings.Contains(f.Text, "cannot be read") && strings.Contains(f.Text, "torn.json") && f.Severity == sevError
	}) {
		t.Errorf("what cannot be read: %+v", all)
	}
}
