package jsonrpc

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"mcphub/internal/jsonrpc/lines"
)

// What the fast path has sent leaves before anything that may take its time:
// a request behind it that is served on the waiting path, and never answered.
func TestBatchWaitsForNobody(t *testing.T) {
	t.Parallel()
	toHop, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromFar, farOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	farIn, toFar, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromHop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	far := NewConn(farIn, farOut, &farEnd{}, ConnOptions{})
	down := NewConn(fromFar, toFar, &farEnd{}, ConnOptions{})
	r := &hop{to: down, short: true}
	stuck := make(chan struct{})
	up := NewConn(toHop, fromHop, &handler{request: func(ctx context.Context, _ *Message) Answer {
		close(stuck)
		<-ctx.Done()
		return Answer{}
	}}, ConnOptions{Strict: true, Fast: func(m *Message, reply *Responder) bool { return m.Method == "echo" && r.take(m, reply) }})
	ctx, cancel := context.WithCancel(context.Background())
	for _, c := range []*Conn{far, down, up} {
		go func() { _ = c.Run(ctx) }()
	}
	defer func() {
		cancel()
		for _, c := range []*Conn{far, down, up} {
			<-c.Done()
		}
		_ = in.Close()
		_ = out.Close()
	}()
	var sent strings.Builder
	for i := range 5 {
		fmt.Fprintf(&sent, `{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"n":%d}}`+"\n", i, i)
	}
	sent.WriteString(`{"jsonrpc":"2.0","id":"slow","method":"slow"}` + "\n" + `{"jsonrpc":"2.0","id":"half`)
	if _, err := io.WriteString(in, sent.String()); err != nil {
		t.Fatal(err)
	}
	reader := lines.NewReader(out, 0)
	seen := map[string]bool{} // the far end answers in any order
	for range 5 {
		line, err := reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		seen[string(line)] = true
	}
	for i := range 5 {
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"n":%d}}`, i, i); !seen[want] {
			t.Errorf("no %s in %v", want, seen)
		}
	}
	<-stuck
}
