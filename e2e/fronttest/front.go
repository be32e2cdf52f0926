package fronttest

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcphub/internal/jsonrpc"
)

// Listen listens on a free port of loopback.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// Run serves until stop is called, at the latest at the end of the test; an error of
// serve fails that. The client goes by transport.
func Run(t testing.TB, transport *http.Transport, serve func(context.Context) error) (client *http.Client, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
		transport.CloseIdleConnections()
	})
	t.Cleanup(stop)
	return &http.Client{Transport: transport}, stop
}

// Do makes one request as a client of Streamable HTTP does; header pairs are name, value.
func Do(t testing.TB, client *http.Client, method, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// Body reads the whole body.
func Body(t testing.TB, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	return string(b)
}

// Messages reads the messages of an answer, plain JSON or a stream, up to a response,
// which it returns; nil if there is none. each is given the others, with the ids of
// their events, unless it is nil.
func Messages(t testing.TB, r *http.Response, each func(m *jsonrpc.Message, event string)) *jsonrpc.Message {
	t.Helper()
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", r.StatusCode, Body(t, r))
	}
	var m jsonrpc.Message
	if r.Header.Get("Content-Type") == "application/json" {
		if err := jsonrpc.Split([]byte(Body(t, r)), false, &m); err != nil {
			t.Fatal(err)
		}
		return &m
	}
	sc := bufio.NewScanner(r.Body)
	sc.Buffer(nil, 1<<26)
	var data []string
	event := ""
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			event = line[4:]
		case strings.HasPrefix(line, "data: "):
			data = append(data, line[6:])
		case line == "" && len(data) > 0:
			text := strings.Join(data, "\n")
			data = nil
			if text == "" {
				continue
			}
			var m jsonrpc.Message
			if err := jsonrpc.Split([]byte(text), false, &m); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if m.IsResponse() {
				return &m
			}
			if each != nil {
				each(&m, event)
			}
		}
	}
	return nil
}
