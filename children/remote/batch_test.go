package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"mcphub/children/remote"
	"mcphub/e2e/childtest"
)

// A server of 2025-03-26 may put several messages into one array: in an event, and
// in an answer that is plain JSON.
func TestRemoteReadsBatches(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	const note, ask = `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`, `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{}}`
	s.On["tools/call"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		send := childtest.Events(w)
		send("", "["+note+","+fmt.Sprintf(ask, `"q"`)+"]")
		s.Until("answer", 1)
		send("", `[`+note+`,{"jsonrpc":"2.0","id":`+id+`,"result":{"n":1.0}}]`)
	}
	s.On["tools/list"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `[%s, {"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}]`, note, id)
	}
	l, h, _ := open(t, remote.Server{URL: s.URL})
	greet(t, l)
	for method, want := range map[string]string{"tools/call": `{"n":1.0}`, "tools/list": `{"tools":[]}`} {
		if res, err := l.Call(t.Context(), method); err != nil || string(res.Result) != want {
			t.Errorf("%s: %v %v", method, res, err)
		}
	}
	for range 3 {
		if n := <-h.note; n != "notifications/progress" {
			t.Error(n)
		}
	}
	s.On["tools/list"] = func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `[%s]`, note)
	}
	if _, err := l.Call(t.Context(), "tools/list"); err == nil {
		t.Error("a batch without an answer is taken for one")
	}
}

// TestRemoteByteOrderMark: one before an answer, or before what refuses a request, is no part of it.
func TestRemoteByteOrderMark(t *testing.T) {
	t.Parallel()
	s := childtest.NewServer(t)
	code := http.StatusOK
	s.On["tools/call"] = func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		body := `"result":{"a":1}`
		if code != http.StatusOK {
			body = `"error":{"code":-32050,"message":"quota"}`
		}
		_, _ = io.WriteString(w, "\ufeff"+`{"jsonrpc":"2.0","id":`+id+`,`+body+`}`)
	}
	l, _, _ := open(t, remote.Server{URL: s.URL, Transport: remote.HTTP})
	greet(t, l)
	if res, err := l.Call(t.Context(), "tools/call"); err != nil || string(res.Result) != `{"a":1}` {
		t.Errorf("%+v, %v", res, err)
	}
	code = http.StatusBadRequest
	if res, err := l.Call(t.Context(), "tools/call"); err != nil || string(res.Error) != `{"code":-32050,"message":"quota"}` {
		t.Errorf("%+v, %v", res, err)
	}
}
