package hub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mcphub/children/remote"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// reciter is a server over HTTP that gives to each method the answer that it was
// given, and notes what it heard.
type reciter struct {
	mu    sync.Mutex
	says  map[string]string // the member of the answer, raw, by method
	heard []string
}

// recite starts one with resources, of which it lists those, and templates.
func recite(t *testing.T, name string, resources, templates string, says map[string]string) (*reciter, spec.Spec) {
	t.Helper()
	r := &reciter{says: map[string]string{
		"initialize":               `"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true,"listChanged":true}},"serverInfo":{"name":"r","version":"1"}}`,
		"resources/list":           `"result":{"resources":[` + resources + `]}`,
		"resources/templates/list": `"result":{"resourceTemplates":[` + templates + `]}`,
	}}
	for method, says := range says {
		r.says[method] = says
	}
	at := httptest.NewServer(r)
	t.Cleanup(at.Close)
	return r, spec.Spec{Name: name, URL: at.URL, Transport: remote.HTTP, Era: spec.EraLegacy}
}

func (r *reciter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var m struct {
		ID, Params json.RawMessage
		Method     string
	}
	body, _ := io.ReadAll(req.Body)
	if req.Method != http.MethodPost || json.Unmarshal(body, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, m.Method+" "+string(m.Params))
	says := r.says[m.Method]
	if says == "" {
		says = `"error":{"code":-32601,"message":"Method not found"}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, says)
}

func (r *reciter) has(t *testing.T, what string, want bool) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.heard {
		if h == what {
			if !want {
				t.Errorf("it heard %s", what)
			}
			return
		}
	}
	if want {
		t.Errorf("it heard no %s: %s", what, strings.Join(r.heard, "\n"))
	}
}

const absent = `"error":{"code":-32002,"message":"it is not here","data":{"uri":"note://9"}}`

// TestSubscribingWhereTheResourceIs: a resource that no one lists is subscribed to
// at the server that has it, like it is read there, and the subscription ends
// there.
func TestSubscribingWhereTheResourceIs(t *testing.T) {
	const hidden = `{"uri":"note://9"}`
	yes := map[string]string{"resources/subscribe": `"result":{}`, "resources/unsubscribe": `"result":{}`, "resources/read": `"result":{"contents":[]}`}
	no := map[string]string{"resources/subscribe": absent, "resources/unsubscribe": `"result":{}`, "resources/read": absent}
	first, a := recite(t, "first", `{"uri":"a1://1","name":"n"}`, "", no)
	has, b := recite(t, "has", `{"uri":"b1://1","name":"n"}`, "", yes)
	h := newTestHub(t, a, b)
	c := connect(t, h)
	c.handshake(`{}`)
	c.raw("resources/read", hidden) // the control
	c.raw("resources/subscribe", hidden)
	has.has(t, "resources/subscribe "+hidden, true)
	c.raw("resources/unsubscribe", hidden)
	has.has(t, "resources/unsubscribe "+hidden, true)
	first.has(t, "resources/unsubscribe "+hidden, false)
}

// TestListeningWhereTheResourceIs is the same for a modern client, which names
// its resources on a stream.
func TestListeningWhereTheResourceIs(t *testing.T) {
	_, a := recite(t, "first", "", "", map[string]string{"resources/subscribe": absent})
	has, b := recite(t, "has", "", "", map[string]string{"resources/subscribe": `"result":{}`})
	h := newTestHub(t, a, b)
	c, _ := enterModern(t, h, `{}`)
	c.raw("resources/list", `{}`)
	c.listen(`{"resourceSubscriptions":["note://9"]}`)
	if got := <-c.notes; !strings.HasPrefix(got, "notifications/subscriptions/acknowledged") || !strings.Contains(got, "note://9") {
		t.Errorf("nobody is subscribed to: %s", got)
	}
	has.has(t, `resources/subscribe {"uri":"note://9"}`, true)
}

// A resource whose scheme has one letter is read as any other, if its server lists it or a template of it. What no server lists is taken for
// the path of a drive.
func TestResourceWithASchemeOfOneLetter(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there it is a path")
	}
	script := childtest.Script{Library: true, Replies: map[string]string{
		"resources/list":           `{"resources":[{"uri":"x://r/1","name":"one"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"y://r/{id}","name":"two"}]}`,
		"resources/read":           `{"contents":[{"uri":"x://r/1","text":"here"}]}`,
		"completion/complete":      `{"completion":{"values":["here"]}}`,
	}}
	play(t, []spec.Spec{played("kid", spec.ShareSession, script)}, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h, t.TempDir())
		c.handshake(rootsCaps)
		for _, uri := range []string{"x://r/1", "y://r/2"} {
			if got := c.raw("resources/read", `{"uri":"`+uri+`"}`); !strings.Contains(got, "here") {
				t.Errorf("%s: %s", uri, got)
			}
			c.raw("resources/subscribe", `{"uri":"`+uri+`"}`)
		}
		c.raw("completion/complete", `{"ref":{"type":"ref/resource","uri":"y://r/{id}"},"argument":{"name":"id","value":"2"}}`)
		for _, uri := range []string{"x://r/2", "z://r/1", "x:/r/1", "y://r/%2Fetc%2Fpasswd"} {
			if e := c.refused("resources/read", `{"uri":"`+uri+`"}`); !strings.Contains(e.Message, "Access denied") {
				t.Errorf("%s: %v", uri, e)
			}
		}
	})
}
