package httpfront

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/mirror"
)

// modernHeaders fit modernCall.
var modernHeaders = []string{headers.Protocol, headers.ModernVersion, "Mcp-Method", "tools/call", "Mcp-Name", "t"}

const modernCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`

// TestModernRequestIsServedWithoutASession: as JSON, or as a stream from the first
// thing that is said before the answer. The control is the same request as a client
// after its handshake would send it.
func TestModernRequestIsServedWithoutASession(t *testing.T) {
	t.Parallel()
	h := newFakeHub()
	says := ""
	h.modern = fakeRequest{hasMethod: true, serve: func(_ context.Context, r *ModernExchange) jsonrpc.Answer {
		if says != "" {
			r.TryNotify("notifications/x", []byte(says))
		}
		return jsonrpc.ResultAnswer([]byte(`{"served":true}`))
	}}
	w := serveWeb(t, h, FrontOptions{})
	r := w.do("POST", modernCall, modernHeaders...)
	if got := body(t, r); r.StatusCode != 200 || got != `{"jsonrpc":"2.0","id":1,"result":{"served":true}}` || r.Header.Get(headers.Session) != "" {
		t.Errorf("%d %s", r.StatusCode, got)
	}
	says = `{"n":1}`
	r = w.do("POST", modernCall, modernHeaders...)
	if got := body(t, r); r.Header.Get("Content-Type") != "text/event-stream" || strings.Index(got, says) > strings.Index(got, "served") || strings.Contains(got, "id: ") {
		t.Errorf("%s", got)
	}
	if r := w.do("POST", strings.Replace(modernCall, `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, "", 1)); r.StatusCode != http.StatusBadRequest {
		t.Errorf("control: %d", r.StatusCode)
	}
}

// TestModernStatus: which errors have a status of their own, and that only a method
// which the hub itself lacks is not found.
func TestModernStatus(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code      int64
		hasMethod bool
		want      int
	}{
		"another version":        {-32022, true, http.StatusBadRequest},
		"a missing capability":   {-32021, true, http.StatusBadRequest},
		"no such method":         {jsonrpc.CodeMethodNotFound, false, http.StatusNotFound},
		"a child lacks a method": {jsonrpc.CodeMethodNotFound, true, http.StatusOK},
		"any other":              {jsonrpc.CodeInternal, true, http.StatusOK},
	} {
		h := newFakeHub()
		h.modern = fakeRequest{hasMethod: tc.hasMethod, serve: func(context.Context, *ModernExchange) jsonrpc.Answer {
			return jsonrpc.ErrorAnswer(tc.code, "x")
		}}
		if r := serveWeb(t, h, FrontOptions{}).do("POST", modernCall, modernHeaders...); r.StatusCode != tc.want {
			t.Errorf("%s: %d, want %d", name, r.StatusCode, tc.want)
		}
	}
}

// TestModernHeadersOfAToolThatIsFoundLate: they are compared as the ones of a tool
// that is known, and what the work makes of the refusal is not sent.
func TestModernHeadersOfAToolThatIsFoundLate(t *testing.T) {
	t.Parallel()
	marks := []mirror.Mark{{Header: "Mcp-Param-A", Path: []string{"a"}}}
	for _, late := range []bool{false, true} {
		h := newFakeHub()
		request := fakeRequest{hasMethod: true, mirrors: marks}
		request.serve = func(_ context.Context, r *ModernExchange) jsonrpc.Answer {
			if _, ok := r.CheckHeaders(marks, []byte(`{"a":"x"}`)); !ok {
				return jsonrpc.ResultAnswer([]byte(`{"altered":true}`))
			}
			return jsonrpc.ResultAnswer([]byte(`{"served":true}`))
		}
		if late {
			request.mirrors = nil
		}
		h.modern = request
		w := serveWeb(t, h, FrontOptions{})
		if r := w.do("POST", modernCall, append([]string{"Mcp-Param-A", "x"}, modernHeaders...)...); r.StatusCode != 200 || !strings.Contains(body(t, r), "served") {
			t.Errorf("late %v, control: %d", late, r.StatusCode)
		}
		r := w.do("POST", modernCall, append([]string{"Mcp-Param-A", "y"}, modernHeaders...)...)
		if got := body(t, r); r.StatusCode != http.StatusBadRequest || !strings.Contains(got, "header mismatch: Mcp-Param-A") {
			t.Errorf("late %v: %d %s", late, r.StatusCode, got)
		}
	}
}
