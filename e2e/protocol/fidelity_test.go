package protocol

import (
	"bytes"
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
		if name == "echo_nullable" {
			a.(obj)["inputSchema"] = obj{"type": "object"} // without that the official SDK loses the whole list
		}
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
