package protocol

import (
	"context"
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
