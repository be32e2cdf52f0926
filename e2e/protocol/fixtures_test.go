package protocol

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// The tests here need no hub: they prove that the witnesses see what they are said to see. Without them a test that finds
// nothing in a record would prove nothing.

func TestRecorderWritesDownWhatReachesIt(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Direct("rec", ide.Folders(w.Project))
	s.Handshake()
	args := `{ "path" : "/etc/passwd", "n":9007199254740993, "x":[1.50,-0] }`
	r := s.MustCall("echo", args)
	if string(r.Structured) != args {
		t.Errorf("echo gives back %s, want %s", r.Structured, args)
	}
	if !strings.Contains(w.Recorded("rec"), args) {
		t.Errorf("the record does not hold the arguments as sent:\n%s", w.Recorded("rec"))
	}
	if st := w.Starts("rec"); len(st) != 1 || st[0].PID != s.PID() {
		t.Errorf("starts %+v, want one with pid %d", st, s.PID())
	}
}

func TestRecorderAsksForRoots(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	open := make(chan struct{})
	s := w.Direct("rec", ide.InTurn(ide.Folders(w.Project), ide.Refuse(-32000, "not now"), ide.Never(), ide.After(open, ide.Folders(w.Other))))
	s.Handshake()
	if r := s.MustCall("ask_roots", `{}`); !strings.Contains(string(r.Structured), ide.FileURI(w.Project)) {
		t.Errorf("first answer: %s", r.Structured)
	}
	if r := s.MustCall("ask_roots", `{}`); !strings.Contains(string(r.Structured), "not now") {
		t.Errorf("second answer: %s", r.Structured)
	}
	never := s.SendCall("ask_roots", `{}`)
	world.Must(t, s.AwaitAsked(s.Context(), 3))
	late := s.SendCall("ask_roots", `{}`)
	world.Must(t, s.AwaitAsked(s.Context(), 4))
	if r := s.MustCall("echo", `{"text":"meanwhile"}`); !strings.Contains(r.Text, "meanwhile") {
		t.Errorf("meanwhile: %s", r.Raw)
	}
	close(open)
	if r := s.AwaitCall(late); !strings.Contains(string(r.Structured), ide.FileURI(w.Other)) {
		t.Errorf("late answer: %s", r.Structured)
	}
	world.Must(t, s.Notify("notifications/cancelled", `{"requestId":`+never+`}`))
	s.MustRequest("ping", "")
	if got := s.Asked(); got != 4 {
		t.Errorf("asked %d times, want 4", got)
	}
}

func TestRecorderBreaksLines(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Direct("rec", nil)
	s.Sloppy = true
	s.Handshake()
	for _, kind := range []string{"cut", "late_id", "no_id"} {
		before := len(s.Violations())
		id := s.SendCall("broken_line", world.Raw(t, obj{"kind": kind}))
		if kind == "no_id" {
			s.AwaitCall(id) // the good answer comes behind the broken line
		}
		s.MustRequest("ping", "")
		if !world.Within(world.WaitLimit, func() bool { return len(s.Violations()) > before }) {
			t.Errorf("%s: no broken line", kind)
		} else if after := s.Violations(); len(after) != before+1 || !strings.Contains(after[before], "not a JSON object") {
			t.Errorf("%s: violations %q", kind, after[before:])
		}
	}
	if r := s.MustCall("odd", `{"kind":"utf8"}`); !strings.Contains(string(r.Raw), "bad \xff\xfe bytes") {
		t.Errorf("utf8: %q", r.Raw)
	}
	if m := s.MustRequest("tools/call", `{"name":"odd","arguments":{"kind":"error"}}`); !strings.Contains(string(m.Error), `"left":9007199254740993`) {
		t.Errorf("error: %s", m.Raw)
	}
}

func TestRecorderCrashes(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Direct("rec", nil)
	s.ExitStatus = 3
	s.Handshake()
	if _, err := s.Tool(s.Context(), "crash", `{}`); err == nil || !strings.Contains(err.Error(), "stdout ended") {
		t.Errorf("a crash mid-call: %v", err)
	}
}

// A recorder that will not end shows that the search for left-over processes finds what is left over.
func TestLeftOverProcessesAreFound(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says whose environment holds what")
	}
	w := world.New(t)
	mark := "XDG_MCPHUB_E2E=" + w.Dir + "#control;"
	c, err := ide.Start(ide.Options{Command: world.Bin.Recorder, Args: []string{"-ignore-term", "-grandchild"}, Dir: w.Dir,
		Env: append(w.RecorderEnv("rec"), mark)})
	world.Must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
	defer cancel()
	_, err = c.Initialize(ctx)
	world.Must(t, err)
	_, err = c.Tool(ctx, "echo", `{}`)
	world.Must(t, err)
	st := w.Starts("rec")
	if len(st) != 2 || st[1].Grandchild == 0 {
		t.Fatalf("starts %+v, want one and its grandchild", st)
	}
	if found := world.Marked(t, mark); len(found) != 2 {
		t.Errorf("found %v, want the recorder and its grandchild", found)
	}
	child, err := os.FindProcess(st[1].Grandchild)
	world.Must(t, err)
	e := c.Close(100 * time.Millisecond) // kills the recorder, which alone would have gone on
	if !e.Killed || !e.Held {
		t.Errorf("%+v: want killed, and stdout held by the grandchild", e)
	}
	if found := world.Marked(t, mark); len(found) != 1 || found[0].PID != st[1].Grandchild {
		t.Errorf("found %v, want the grandchild alone", found)
	}
	world.Must(t, child.Kill())
	world.WantNone(t, mark)
}

func TestWrappedServerIsRecorded(t *testing.T) {
	t.Parallel()
	n := world.RequireNode(t)
	w := world.New(t)
	entry := w.Wrapped("fs", "mcp-server-filesystem", []string{n.Program, n.Script("mcp-server-filesystem")}, nil)
	env := w.Env()
	for k, v := range entry["env"].(obj) {
		env = append(env, k+"="+v.(string))
	}
	s := w.Start(ide.Options{Command: entry["command"].(string), Args: []string{w.Project}, Env: env, Capabilities: `{}`})
	s.Handshake()
	if r := s.MustCall("read_text_file", world.Raw(t, obj{"path": w.Path("project", "hello.txt")})); !strings.Contains(r.Text, "hello from the project") {
		t.Errorf("read: %s", r.Raw)
	}
	// The control of every denial: without a hub the call does reach the server.
	r := s.AwaitCall(s.SendCall("read_text_file", `{"path":"/etc/passwd"}`))
	if !r.IsError || !strings.Contains(w.Recorded("fs"), "/etc/passwd") {
		t.Errorf("the call past the boundary left no trace: %s", r.Raw)
	}
	if st := w.Starts("fs"); len(st) != 1 || len(st[0].Args) != 1 || st[0].Args[0] != w.Project {
		t.Errorf("starts %+v", st)
	}
}

func TestRecorderOffersWhatLibrariesLose(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Direct("rec", nil, "-pages", "3", "-bad-schema", "-nullable")
	s.Handshake()
	all := s.Tools()
	for _, name := range []string{"echo", "rich", "rich_draft07", "echo_nullable", "reads_a_file"} {
		if all[name] == nil {
			t.Errorf("no %s among %v", name, world.Names(all))
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
	s.MustCall("add_tool", `{"name":"late"}`)
	s.AwaitTool("late")
}
