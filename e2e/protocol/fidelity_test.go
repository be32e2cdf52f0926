package protocol

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// What a child answers reaches the client byte for byte, whatever it is.
func TestResultsPassUnchanged(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	direct := w.Direct("direct", ide.Folders(w.Project))
	hub := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	hub.Odd = true
	direct.Handshake()
	hub.Handshake()
	for _, kind := range []string{"", "utf8", "order", "escaped", "error"} {
		args := world.Raw(t, obj{"kind": kind})
		want := direct.MustRequest("tools/call", ide.ToolParams("odd", args))
		got := hub.MustRequest("tools/call", ide.ToolParams("rec__odd", args))
		if !bytes.Equal(want.Result, got.Result) {
			t.Errorf("kind %q: result through the hub\n%s\nnot as the child gave it\n%s", kind, got.Raw, want.Raw)
		}
		if !bytes.Equal(want.Error, got.Error) {
			t.Errorf("kind %q: error through the hub\n%s\nnot as the child gave it\n%s", kind, got.Raw, want.Raw)
		}
	}
	if !strings.Contains(string(hub.MustRequest("tools/call", ide.ToolParams("rec__odd", `{}`)).Result), `"type":"hologram"`) {
		t.Error("the odd result is not odd")
	}
}

// What the client sends reaches the child byte for byte.
func TestArgumentsPassUnchanged(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	for _, args := range []string{
		`{ "n" : 9007199254740993 , "x":[1.50, 1E+2,-0, 123456789012345678901234567890 ] }`,
		`{"\u0074ext":"\u0041\/ \ud83d\ude00 \u2028","deep":{"b":1,"a":2,"":null}}`,
		`{"text":"` + strings.Repeat("long ", 40_000) + `"}`,
		`{}`,
	} {
		r := s.MustCall("rec__echo", args)
		if string(r.Structured) != args {
			t.Errorf("echo gives back %.300s, want %.300s", r.Structured, args)
		}
		if !strings.Contains(w.Recorded("rec"), `"arguments":`+args) {
			t.Errorf("the child was sent something else than %.300s:\n%.1000s", args, w.Recorded("rec"))
		}
	}
	// What the hub does not know in params it hands on: a later protocol may put it there.
	s.MustRequest("tools/call", `{"_meta":{"example.com/trace":{"n":9007199254740993,"b":1,"a":2}},"name":"rec__echo","arguments":{}}`)
	if !strings.Contains(w.Recorded("rec"), `"example.com/trace":{"n":9007199254740993,"b":1,"a":2}`) {
		t.Errorf("_meta did not reach the child as sent:\n%s", w.Recorded("rec"))
	}
	// Absent arguments are none, not an error.
	if m := s.MustRequest("tools/call", `{"name":"rec__echo"}`); m.Result == nil {
		t.Errorf("without arguments: %s", m.Raw)
	}
}

// Numbers that no float64 holds, strings, and a number that looks like a string in flight at the same time.
func TestRequestIDsComeBackAsSent(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	s.AwaitTool("rec__sleep")
	ids := []string{`9007199254740993`, `"9007199254740993"`, `123456789012345678901234567890`, `"a \"quoted\" id"`, `-7`, `"7001"`, `7001`, `0`, `""`}
	for _, id := range ids {
		world.Must(t, s.RequestAs(id, "tools/call", ide.ToolParams("rec__sleep", `{"ms":50}`)))
	}
	for _, id := range ids {
		if r := s.AwaitCall(id); r.Text != "slept" {
			t.Errorf("id %s: %s", id, r.Raw)
		}
	}
	for id, method := range map[string]string{`9007199254740995`: "ping", `9007199254740997`: "tools/list", `9007199254740999`: "no/such/method"} {
		world.Must(t, s.RequestAs(id, method, ""))
		if _, err := s.Answer(s.Context(), id); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// Every entry of tools/list, as a JSON value, is what the child gives to a client with the hub's capabilities.
func TestToolsAreListedAsTheChildGivesThem(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	direct := w.Direct("direct", ide.Folders(w.Project), "-nullable")
	hub := w.Serve(w.Config(obj{"rec": w.Recorder("rec", "-nullable", "-pages", "4")}), ide.Folders(w.Project))
	hub.Odd = true
	direct.Handshake()
	hub.Handshake()
	want, got := direct.Tools(), hub.AwaitTool("rec__echo")
	for name, entry := range want {
		var a, b any
		world.Decode(t, entry, &a)
		if got["rec__"+name] == nil {
			t.Errorf("%s is not listed", name)
			continue
		}
		world.Decode(t, got["rec__"+name], &b)
		b.(obj)["name"] = name
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s through the hub (+) is not as the child gives it (-):\n%s", name, diff)
		}
	}
	for name := range got {
		if rest, ok := strings.CutPrefix(name, "rec__"); ok && want[rest] == nil {
			t.Errorf("%s is listed and the child has no such tool", name)
		}
	}
	// Exact bytes of what float64 and maps lose.
	for _, part := range []string{`[1,2.50,1E+2]`, `18446744073709551616`, `"x-before":{"b":2,"a":1}`, `"maximum":9007199254740993`} {
		if !strings.Contains(string(got["rec__rich"]), part) {
			t.Errorf("rec__rich does not hold %s: %s", part, got["rec__rich"])
		}
	}
	// Escapes for the terminal are the one thing removed (H1).
	if !strings.Contains(string(got["rec__rich"]), "Everything at once") {
		t.Errorf("rec__rich has no description: %s", got["rec__rich"])
	}
}

func TestTerminalEscapesAreTakenOutOfDescriptions(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec", "-ansi")}), ide.Folders(w.Project))
	s.Handshake()
	var tool struct{ Description string }
	world.Decode(t, s.AwaitTool("rec__painted")["rec__painted"], &tool)
	if strings.ContainsRune(tool.Description, 0x1b) || !strings.Contains(tool.Description, "red") {
		t.Errorf("description %q", tool.Description)
	}
}

// Progress bears the client's own token, comes in order, and never after the result.
func TestProgressComesBeforeTheResult(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	const steps = 200
	for _, token := range []string{`"tok"`, `9007199254740993`} {
		m := s.MustRequest("tools/call", `{"name":"rec__progress","arguments":{"steps":200},"_meta":{"progressToken":`+token+`}}`)
		if m.Result == nil {
			t.Fatalf("token %s: %s", token, m.Raw)
		}
		next, answered := 1, false
		for _, n := range s.Messages() {
			if bytes.Equal(n.Raw, m.Raw) {
				answered = true
			}
			var p struct {
				ProgressToken json.RawMessage
				Progress      int
			}
			if n.Method != "notifications/progress" || json.Unmarshal(n.Params, &p) != nil || string(p.ProgressToken) != token {
				continue
			}
			if p.Progress != next || answered {
				t.Errorf("token %s: step %d where %d was due, after the result: %v", token, p.Progress, next, answered)
			}
			next = p.Progress + 1
		}
		if next != steps+1 {
			t.Errorf("token %s: %d steps came, want %d", token, next-1, steps)
		}
	}
}

// A child's line that cannot be used ends the call it belongs to, and nothing else.
func TestBrokenLinesEndTheirCall(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec", "-garbage"), "big": w.Recorder("big")}, obj{"limits": obj{"frame": "1MiB"}}), ide.Folders(w.Project))
	s.Handshake()
	for _, kind := range []string{"cut", "late_id", "two_ids"} {
		e := s.RpcError("tools/call", ide.ToolParams("rec__broken_line", world.Raw(t, obj{"kind": kind})), -32603)
		if e.Message == "" {
			t.Errorf("%s: an error without a reason", kind)
		}
	}
	if r := s.MustCall("rec__broken_line", `{"kind":"no_id"}`); !strings.Contains(r.Text, "the line before this one") {
		t.Errorf("no_id: %s", r.Raw)
	}
	if r := s.MustCall("big__big", `{"bytes":500000}`); len(r.Text) != 500000 {
		t.Errorf("half the limit: %d bytes", len(r.Text))
	}
	s.RpcError("tools/call", ide.ToolParams("big__big", `{"bytes":3000000}`), -32603)
	s.MustCall("big__echo", `{"text":"still there"}`)
	s.MustCall("rec__echo", `{"text":"still there"}`)
	if n := len(w.Starts("rec")) + len(w.Starts("big")); n != 2 {
		t.Errorf("%d starts: a broken line restarted a child", n)
	}
}

// Ten mebibytes there and back; the default frame limit is 64 MiB.
func TestLargeMessagesPass(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	s := w.Serve(w.Config(obj{"rec": w.Recorder("rec")}), ide.Folders(w.Project))
	s.Handshake()
	const size = 10 << 20
	if r := s.MustCall("rec__big", world.Raw(t, obj{"bytes": size})); len(r.Text) != size {
		t.Errorf("%d bytes came, want %d", len(r.Text), size)
	}
	args := `{"text":"` + strings.Repeat("y", 2<<20) + `"}`
	if r := s.MustCall("rec__echo", args); string(r.Structured) != args {
		t.Errorf("%d bytes came back, want %d", len(r.Structured), len(args))
	}
}
