package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/childtest"
	"mcphub/rootsmgr"
)

// batchOf reads an array of answers, by id.
func batchOf(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var all []struct{ ID, Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	got := map[string]json.RawMessage{}
	for _, a := range all {
		got[string(a.ID)] = append(a.Result, a.Error...)
	}
	if len(got) != len(all) {
		t.Errorf("an id is answered twice: %s", text)
	}
	return got
}

// mixed returns a batch of all kinds; one call of it lies inside, one outside, and no server knows two of the names.
func mixed(inside, outside string) string {
	return fmt.Sprintf(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kid__echo","arguments":{"path":%q}}},
		{"jsonrpc":"2.0","method":"notifications/unknown"},
		{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"kid__echo","arguments":{"path":%q}}},
		{"jsonrpc":"2.0","id":3,"method":"ping"},
		{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}},
		{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"nobody__has","arguments":{}}},
		{"jsonrpc":"2.0","id":7,"method":"nobody/has"},
		{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"kid__echo","name":"kid__roots"}}]`, inside, outside)
}

func wantMixed(t *testing.T, got map[string]json.RawMessage, inside string) {
	t.Helper()
	for id, want := range map[string]string{
		"1": inside, `"two"`: "Access denied: Path", "3": "{}", "4": "must not be part of a batch", "5": "", "6": "Unknown tool", "7": "-32601", "null": "",
	} {
		switch {
		case id == "5" || id == "null": // what has two readings has perhaps no id
		case !strings.Contains(string(got[id]), want):
			t.Errorf("%s got %s, want %s", id, got[id], want)
		}
	}
	if len(got) != 7 || len(got["5"])+len(got["null"]) == 0 {
		t.Errorf("%d answers: %s", len(got), got)
	}
}

// 2025-03-26 has batches; the other revisions are the control.
func TestBatchOverHTTP(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Launcher = childtest.Pipes{}
	cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: root}}}
	w := serveWeb(t, runHub(t, cfg), HTTPOptions{})
	frame := mixed(filepath.Join(root, "in"), filepath.Join(outside, "out"))
	for _, version := range []string{"2025-03-26", "2024-11-05", "2025-06-18", "2025-11-25"} {
		r := w.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		session := r.Header.Get(headerSession)
		_ = body(t, r)
		post := func(frame string, header ...string) (int, string) {
			r := w.do("POST", frame, append([]string{headerSession, session}, header...)...)
			return r.StatusCode, body(t, r)
		}
		if code, text := post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); code != http.StatusAccepted {
			t.Fatalf("%d %s", code, text)
		}
		code, text := post(frame)
		if version != "2025-03-26" {
			if code != http.StatusBadRequest || !strings.Contains(text, "-32600") {
				t.Errorf("%s: %d %s", version, code, text)
			}
			continue
		}
		if code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
		wantMixed(t, batchOf(t, text), filepath.Join(root, "in"))
		for what, c := range map[string]struct {
			frame  string
			status int
			header []string
		}{
			"nothing to answer": {`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":9,"result":{}}]`, http.StatusAccepted, nil},
			"empty":             {`[]`, http.StatusBadRequest, nil},
			"not JSON":          {`[{]`, http.StatusBadRequest, nil},
			"too many":          {`[` + strings.Repeat(`1,`, 1000) + `1]`, http.StatusBadRequest, nil},
			"events alone":      {frame, http.StatusNotAcceptable, []string{"Accept", "text/event-stream"}},
			"of no session":     {frame, http.StatusBadRequest, []string{headerSession, ""}},
		} {
			if code, text := post(c.frame, c.header...); code != c.status {
				t.Errorf("%s: %d %s", what, code, text)
			}
		}
	}
}

// Many requests in one array are no way round the bounds of a session.
func TestBatchIsBoundedLikeItsSession(t *testing.T) {
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Launcher = childtest.Pipes{}
	cfg.Limits.Calls, cfg.Limits.Frame = 50, 64<<10
	w := serveWeb(t, runHub(t, cfg), HTTPOptions{})
	r := w.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session := r.Header.Get(headerSession)
	_ = body(t, r)
	many := func(n int, method string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"jsonrpc":"2.0","id":%d,"method":%q}`, i, method)
		}
		return "[" + b.String()[1:] + "]"
	}
	post := func(frame string) string { return body(t, w.do("POST", frame, headerSession, session)) }
	one := len(post(many(1, "tools/list")))
	most := (64<<10)/one + 2
	text := post(many(most, "tools/list"))
	if got := batchOf(t, text); len(got) != most || !strings.Contains(text, "longer than a message may be") || len(text) > 66<<10 {
		t.Errorf("%d answers of %d, %d bytes of %d each", len(got), most, len(text), one)
	}
	if got := batchOf(t, post(many(200, "ping"))); len(got) != 200 {
		t.Errorf("200 requests have %d answers", len(got))
	}
}

// TestBatchOverStdio is the same on one pair of streams.
func TestBatchOverStdio(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	cfg := testConfig(t, scripted("kid", childtest.Script{}))
	cfg.Launcher = childtest.Pipes{}
	cfg.Fallback = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: root}}}
	h := runHub(t, cfg)
	for _, version := range []string{"2025-03-26", "2025-06-18"} {
		w := dial(t, h)
		w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		<-w.lines
		w.send(initialized)
		w.send(strings.ReplaceAll(mixed(filepath.Join(root, "in"), filepath.Join(outside, "out")), "\n", " "))
		got := <-w.lines
		for strings.Contains(got, `"method"`) && !strings.HasPrefix(got, "[") {
			got = <-w.lines // a list has changed
		}
		if version != "2025-03-26" {
			if !strings.Contains(got, "-32600") {
				t.Errorf("%s: %s", version, got)
			}
			continue
		}
		wantMixed(t, batchOf(t, got), filepath.Join(root, "in"))
	}
}
