package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/rootsmgr/platform"
)

// TestDeepLines: what no line of the transcript can hold.
func TestDeepLines(t *testing.T) {
	t.Parallel()
	p := dial(t, quiet())
	p.send(hello)
	p.next()
	for _, tt := range []struct {
		line, id string
		code     int // 0: a result
	}{
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + strings.Repeat("[", 1<<20), "7", jsonrpc.CodeInvalidParams},
		{`{"params":` + strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000) + `,"id":"x","jsonrpc":"2.0","method":"ping"}`, `"x"`, jsonrpc.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":2,"method":"ping"}`, "2", 0},
	} {
		p.send("%s", tt.line)
		m := p.next()
		code := 0
		if m.Error != nil {
			code = m.Error.Code
		}
		if string(m.ID) != tt.id || code != tt.code {
			t.Errorf("%s: id %s code %d, want %s %d", printable.Clip(tt.line, 80), m.ID, code, tt.id, tt.code)
		}
	}
}

// TestNoSecondReading: mcp-go's decoder folds case and lets the last name win. A
// reader in front that does neither must see the call that runs.
func TestNoSecondReading(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a": "A", "b": "B"})
	p := dial(t, quiet(dir))
	p.send(hello)
	p.next()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"},"Arguments":{"path":"b"},"NAME":"list_directory"}}`)
	if m := p.next(); !strings.Contains(string(m.Result), `"text":"A"`) {
		t.Errorf("%s", m.Result)
	}
	for _, a := range []string{`{"path":"a","path":"b"}`, `{"path":"a","PATH":"b"}`, `{"Path":"b"}`, `{"path":["a"]}`, `"a"`, `{"path":"\ud800"}`} {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":%s}}`, a)
		if m := p.next(); m.Error == nil && !strings.Contains(string(m.Result), `"isError":true`) {
			t.Errorf("%s: %s", a, m.Result)
		}
	}
}

func TestNotificationRunsNothing(t *testing.T) {
	t.Parallel()
	dir := folder(t, nil)
	p := dial(t, quiet(dir))
	p.send(hello)
	p.next()
	p.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"write_file","arguments":{"path":"f","content":"x"}}}`)
	p.in.Close()
	if err := p.end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
		t.Error("a call without an id ran")
	}
}

// TestCancel: a call that waits does not run once it is cancelled, and gets no
// answer.
func TestCancel(t *testing.T) {
	t.Parallel()
	dir := folder(t, nil)
	p := dial(t, quiet())
	p.send(helloRoots)
	p.next()
	p.send(initialized)
	question := p.next()
	p.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"write_file","arguments":{"path":"f","content":"x"}}}`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`)
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":%q}]}}`, question.ID, platform.Host().FormatURI(dir))
	p.send("%s", read(1, "f"))
	if m := p.next(); string(m.ID) != "1" || !strings.Contains(string(m.Result), "does not exist") {
		t.Errorf("%s %s", m.ID, m.Result)
	}
}

// TestManyCallsAtOnce: 120 calls in the pipe while the server asks for roots (what
// locks mcp-go's own stdio server up) are all answered.
func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"f": "x"})
	p := dial(t, quiet())
	p.send(helloRoots)
	p.next()
	p.send(initialized)
	question := p.next()
	for i := range 120 {
		p.send("%s", read(i, "f"))
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":%q}]}}`, question.ID, platform.Host().FormatURI(dir))
	seen := map[string]bool{}
	for range 120 {
		m := p.next()
		if !strings.Contains(string(m.Result), `"text":"x"`) {
			t.Fatalf("%s", m.Result)
		}
		seen[string(m.ID)] = true
	}
	if len(seen) != 120 {
		t.Errorf("%d answers", len(seen))
	}
}

// TestEndOfInput: what was read is still answered, also if it waited for an
// answer that can no longer come.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"f": "x"})
	p := dial(t, quiet(dir))
	p.send(helloRoots)
	p.next()
	p.send(initialized)
	p.next()
	if _, err := io.WriteString(p.in, read(1, "f")); err != nil { // no newline
		t.Fatal(err)
	}
	p.in.Close()
	if m := p.next(); !strings.Contains(string(m.Result), `"text":"x"`) {
		t.Errorf("%s", m.Result)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestContextEndsServe(t *testing.T) {
	t.Parallel()
	p := dial(t, quiet())
	p.send(helloRoots)
	p.next()
	p.send(initialized)
	p.next()
	p.send("%s", read(1, "f")) // waits for roots
	p.cancel()
	if err := p.end(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestStuckCallIsLeftBehind: a call that nothing can interrupt does not keep Serve.
func TestStuckCallIsLeftBehind(t *testing.T) {
	t.Parallel()
	srv := quiet(folder(t, nil))
	srv.edit.Lock() // stands for a disk that does not answer
	defer srv.edit.Unlock()
	p := dial(t, srv)
	p.send(hello)
	p.next()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"f","content":"x"}}}`)
	p.in.Close()
	if err := p.end(); !errors.Is(err, errStuck) {
		t.Errorf("%v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestBrokenOutputEndsServe(t *testing.T) {
	t.Parallel()
	in, w := io.Pipe()
	defer w.Close()
	go fmt.Fprintln(w, hello)
	if err := quiet().Serve(context.Background(), in, brokenPipe{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}

// FuzzFrame: no line ends the session, and whatever is written is one line of JSON.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{hello, helloRoots, initialized, changed, read(1, "f"), `{"jsonrpc":"2.0","id":1,"result":{}}`, `[]`, "\x00", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_files","arguments":{"path":"~","pattern":"{a,**}"}}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			t.Skip()
		}
		var out strings.Builder
		in := io.NopCloser(strings.NewReader(hello + "\n" + line + "\n"))
		if err := quiet().Serve(context.Background(), in, &out); err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			if !json.Valid([]byte(l)) {
				t.Errorf("wrote %q", l)
			}
		}
	})
}
