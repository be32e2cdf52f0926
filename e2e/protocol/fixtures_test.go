package e2e

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/ide"
)

// The tests here need no hub: they prove that the witnesses see what they are said to see. Without them a test that finds
// nothing in a record would prove nothing.

func TestRecorderWritesDownWhatReachesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.direct("rec", ide.Folders(w.project))
	s.initialize()
	args := `{ "path" : "/etc/passwd", "n":9007199254740993, "x":[1.50,-0] }`
	r := s.call("echo", args)
	if string(r.Structured) != args {
		t.Errorf("echo gives back %s, want %s", r.Structured, args)
	}
	if !strings.Contains(w.recorded("rec"), args) {
		t.Errorf("the record does not hold the arguments as sent:\n%s", w.recorded("rec"))
	}
	if st := w.starts("rec"); len(st) != 1 || st[0].PID != s.PID() {
		t.Errorf("starts %+v, want one with pid %d", st, s.PID())
	}
}

func TestRecorderAsksForRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := make(chan struct{})
	s := w.direct("rec", ide.InTurn(ide.Folders(w.project), ide.Refuse(-32000, "not now"), ide.Never(), ide.After(open, ide.Folders(w.other))))
	s.initialize()
	if r := s.call("ask_roots", `{}`); !strings.Contains(string(r.Structured), ide.FileURI(w.project)) {
		t.Errorf("first answer: %s", r.Structured)
	}
	if r := s.call("ask_roots", `{}`); !strings.Contains(string(r.Structured), "not now") {
		t.Errorf("second answer: %s", r.Structured)
	}
	never := s.send("ask_roots", `{}`)
	must(t, s.AwaitAsked(s.ctx(), 3))
	late := s.send("ask_roots", `{}`)
	must(t, s.AwaitAsked(s.ctx(), 4))
	if r := s.call("echo", `{"text":"meanwhile"}`); !strings.Contains(r.Text, "meanwhile") {
		t.Errorf("meanwhile: %s", r.Raw)
	}
	close(open)
	if r := s.await(late); !strings.Contains(string(r.Structured), ide.FileURI(w.other)) {
		t.Errorf("late answer: %s", r.Structured)
	}
	must(t, s.Notify("notifications/cancelled", `{"requestId":`+never+`}`))
	s.request("ping", "")
	if got := s.Asked(); got != 4 {
		t.Errorf("asked %d times, want 4", got)
	}
}

func TestRecorderBreaksLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.direct("rec", nil)
	s.sloppy = true
	s.initialize()
	for _, kind := range []string{"cut", "late_id", "no_id"} {
		before := len(s.Violations())
		id := s.send("broken_line", raw(t, obj{"kind": kind}))
		if kind == "no_id" {
			s.await(id) // the good answer comes behind the broken line
		}
		s.request("ping", "")
		if !within(waitLimit, func() bool { return len(s.Violations()) > before }) {
			t.Errorf("%s: no broken line", kind)
		} else if after := s.Violations(); len(after) != before+1 || !strings.Contains(after[before], "not a JSON object") {
			t.Errorf("%s: violations %q", kind, after[before:])
		}
	}
	if r := s.call("odd", `{"kind":"utf8"}`); !strings.Contains(string(r.Raw), "bad \xff\xfe bytes") {
		t.Errorf("utf8: %q", r.Raw)
	}
	if m := s.request("tools/call", `{"name":"odd","arguments":{"kind":"error"}}`); !strings.Contains(string(m.Error), `"left":9007199254740993`) {
		t.Errorf("error: %s", m.Raw)
	}
}

func TestRecorderCrashes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.direct("rec", nil)
	s.exitStatus = 3
	s.initialize()
	if _, err := s.Tool(s.ctx(), "crash", `{}`); err == nil || !strings.Contains(err.Error(), "stdout ended") {
		t.Errorf("a crash mid-call: %v", err)
	}
}

// A recorder that will not end shows that the search for left-over processes finds what is left over.
func TestLeftOverProcessesAreFound(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says whose environment holds what")
	}
	w := newWorld(t)
	mark := "XDG_MCPHUB_E2E=" + w.dir + "#control;"
	c, err := ide.Start(ide.Options{Command: bin.recorder, Args: []string{"-ignore-term", "-grandchild"}, Dir: w.dir,
		Env: append(w.recorderEnv("rec"), mark)})
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	_, err = c.Initialize(ctx)
	must(t, err)
	_, err = c.Tool(ctx, "echo", `{}`)
	must(t, err)
	st := w.starts("rec")
	if len(st) != 2 || st[1].Grandchild == 0 {
		t.Fatalf("starts %+v, want one and its grandchild", st)
	}
	if found := marked(t, mark); len(found) != 2 {
		t.Errorf("found %v, want the recorder and its grandchild", found)
	}
	child, err := os.FindProcess(st[1].Grandchild)
	must(t, err)
	e := c.Close(100 * time.Millisecond) // kills the recorder, which alone would have gone on
	if !e.Killed || !e.Held {
		t.Errorf("%+v: want killed, and stdout held by the grandchild", e)
	}
	if found := marked(t, mark); len(found) != 1 || found[0].pid != st[1].Grandchild {
		t.Errorf("found %v, want the grandchild alone", found)
	}
	must(t, child.Kill())
	wantNone(t, mark)
}

func TestWrappedServerIsRecorded(t *testing.T) {
	t.Parallel()
	n := requireNode(t)
	w := newWorld(t)
	entry := w.wrapped("fs", "mcp-server-filesystem", []string{n.program, n.script("mcp-server-filesystem")}, nil)
	env := w.env()
	for k, v := range entry["env"].(obj) {
		env = append(env, k+"="+v.(string))
	}
	s := w.start(ide.Options{Command: entry["command"].(string), Args: []string{w.project}, Env: env, Capabilities: `{}`})
	s.initialize()
	if r := s.call("read_text_file", raw(t, obj{"path": w.path("project", "hello.txt")})); !strings.Contains(r.Text, "hello from the project") {
		t.Errorf("read: %s", r.Raw)
	}
	// The control of every denial: without a hub the call does reach the server.
	r := s.await(s.send("read_text_file", `{"path":"/etc/passwd"}`))
	if !r.IsError || !strings.Contains(w.recorded("fs"), "/etc/passwd") {
		t.Errorf("the call past the boundary left no trace: %s", r.Raw)
	}
	if st := w.starts("fs"); len(st) != 1 || len(st[0].Args) != 1 || st[0].Args[0] != w.project {
		t.Errorf("starts %+v", st)
	}
}

func TestRecorderOffersWhatLibrariesLose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.direct("rec", nil, "-pages", "3", "-bad-schema", "-ansi", "-nullable")
	s.initialize()
	all := s.tools()
	for _, name := range []string{"echo", "rich", "rich_draft07", "echo_nullable", "reads_a_file", "painted"} {
		if all[name] == nil {
			t.Errorf("no %s among %v", name, names(all))
		}
	}
	for name, entry := range all {
		if !json.Valid(entry) {
			t.Errorf("%s is not JSON: %s", name, entry)
		}
	}
	for _, part := range []string{"9007199254740993", "x-before", `"oneOf"`, `"$defs"`, "18446744073709551616"} {
		if !strings.Contains(string(all["rich"]), part) {
			t.Errorf("rich has lost %s", part)
		}
	}
	s.call("add_tool", `{"name":"late"}`)
	s.awaitTool("late")
}
