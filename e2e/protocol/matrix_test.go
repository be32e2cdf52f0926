package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/spectest"
	"mcphub/e2e/world"
)

// TestMatrix: each kind of client with each kind of child over each transport on both sides, and on each of the sixteen ways
// whatever a child can say to a client and a client to a child. All of it is held against the specification. Whatever reaches the child is recorded.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, modernClient := range []bool{false, true} {
		for _, modernChild := range []bool{false, true} {
			for _, frontWeb := range []bool{false, true} {
				for _, childWeb := range []bool{false, true} {
					name := fmt.Sprintf("%s client on %s with a %s child on %s", world.EraNames[modernClient], world.TransportNames[frontWeb], world.EraNames[modernChild], world.TransportNames[childWeb])
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						w := world.New(t)
						hub := w.Witnessed(modernChild, childWeb)
						p := newParty(t, modernClient, w.Project)
						meets(hub, p, frontWeb)
						everything(t, w, p, "kid__", "")
						p.boundary(t, w)
						if got := reached(hub); !strings.Contains(got, "hello.txt") || strings.Contains(got, "passwd") {
							t.Error("what reached the child is not what was inside")
						}
						p.isRecorded(w, hub, modernChild)
					})
				}
			}
		}
	}
}

// Clients of the version before the last handshake: what the hub says to them is of that version.
func TestMatrixOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	for _, frontWeb := range []bool{false, true} {
		t.Run(world.TransportNames[frontWeb], func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			hub := w.Witnessed(false, !frontWeb)
			p := newParty(t, false, w.Project)
			p.legacy, p.capabilities["elicitation"] = "2025-06-18", obj{}
			meets(hub, p, frontWeb)
			everything(t, w, p, "kid__", "")
			p.boundary(t, w)
			if n := hub.Front.Judged()["2025-06-18 result of tools/call"]; n < 10 {
				t.Errorf("%d results were held against the schema of this version: %v", n, hub.Front.Judged())
			}
		})
	}
}

// The control: the same without a hub. So both the client and the child are what they are said to be, and whatever is outside
// can be had.
func TestMatrixWithoutAHub(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		for _, onWeb := range []bool{false, true} {
			t.Run(world.EraNames[modern]+" on "+world.TransportNames[onWeb], func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				p := newParty(t, modern, w.Project)
				if onWeb {
					url := w.Listen("kid", world.Bin.Fixture, "-http", "127.0.0.1:0", "-era", world.EraNames[modern])
					p.overWeb(w.TapWeb(url, map[spectest.Party]string{spectest.Client: "this very test"}).URL)
				} else {
					p.overPipe(w, world.Bin.Fixture, "-era", world.EraNames[modern])
				}
				everything(t, w, p, "", "")
				p.works("takes_path", obj{"path": "/etc/passwd"}, "/etc/passwd")
				// What belongs to the other era is not even known.
				other := newParty(t, !modern)
				other.pipe = p.pipe
				if onWeb {
					other.web = &posting{url: p.web.url, client: p.web.client, ctx: p.web.ctx, changed: make(chan struct{})}
				}
				method, params := "server/discover", obj{}
				if modern {
					method, params = "initialize", obj{"protocolVersion": "2025-11-25", "capabilities": obj{}, "clientInfo": p.info}
				}
				other.ids.Add(1000)
				ctx, cancel := context.WithTimeout(context.Background(), world.WaitLimit)
				defer cancel()
				m, err := other.exchange(ctx, method, params)
				world.Must(t, err)
				if e, failed := m.RPCError(); !failed || e.Code != -32601 {
					t.Errorf("of the other era: %s", m.Raw)
				}
			})
		}
	}
}

// everything is done with the fixture, behind a hub or not: its names have this prefix, its resources that one.
func everything(t *testing.T, w *world.World, p *party, prefix, resources string) {
	t.Helper()
	uri := resources + "test://watched-resource"
	p.works(prefix+"test_simple_text", obj{}, "This is a simple text response for testing.")
	p.progresses(t, prefix+"test_tool_with_progress")
	p.cancels(t, prefix)
	p.works(prefix+"test_elicitation", obj{"message": "who are you?"}, "action=accept, content={\"email\":\"ada@example.org\",\"username\":\"Ada\"}")
	p.wasAsked(t, "elicitation/create", "who are you?")
	p.works(prefix+"test_input_required_result_multi_round", obj{}, "Ada likes blue")
	p.wasAsked(t, "elicitation/create", "What is your name?", "What is your favorite color?")
	p.works(prefix+"test_sampling", obj{"prompt": "what is it?"}, "LLM response: forty-two")
	p.wasAsked(t, "sampling/createMessage", "what is it?")
	p.works(prefix+"list_roots", obj{}, "1 roots: "+ide.FileURI(w.Project))
	p.works(prefix+"test_input_required_result_multiple_inputs", obj{}, "forty-two Ada, with 1 roots: "+ide.FileURI(w.Project))
	p.wasAsked(t, "elicitation/create", "What is your name?")
	p.wasAsked(t, "sampling/createMessage", "Generate a greeting")
	m := p.call("prompts/get", obj{"name": prefix + "test_input_required_result_prompt", "arguments": obj{}})
	if !strings.Contains(string(m.Result), `"messages"`) {
		t.Errorf("a prompt that asks: %s", m.Raw)
	}
	p.wasAsked(t, "elicitation/create", "What context")

	for _, list := range []string{"tools/list", "prompts/list"} { // the hub tells no one that a list has changed who does not know it
		if m := p.call(list, obj{}); strings.Contains(string(m.Result), prefix+"added_later") {
			t.Errorf("%s too early: %s", list, m.Raw)
		}
	}
	p.follow(uri)
	p.works(prefix+"test_trigger_tool_change", obj{}, "added")
	p.await("that the tools have changed", func(m ide.Message) bool { return m.Method == "notifications/tools/list_changed" })
	if m := p.call("tools/list", obj{}); !strings.Contains(string(m.Result), `"`+prefix+`added_later"`) {
		t.Errorf("not listed: %s", m.Raw)
	}
	p.works(prefix+"added_later", obj{}, "here now")
	p.works(prefix+"test_trigger_prompt_change", obj{}, "added")
	p.await("that the prompts have changed", func(m ide.Message) bool { return m.Method == "notifications/prompts/list_changed" })
	p.works(prefix+"touch_watched_resource", obj{}, "touched")
	p.await("that the resource has changed", func(m ide.Message) bool {
		return m.Method == "notifications/resources/updated" && strings.Contains(string(m.Params), uri)
	})
	if m := p.call("resources/read", obj{"uri": uri}); !strings.Contains(string(m.Result), "Watched resource content") {
		t.Errorf("the resource: %s", m.Raw)
	}
}

// wasAsked wants as many questions of a method as are named, each of which holds its text.
func (p *party) wasAsked(t *testing.T, method string, texts ...string) {
	t.Helper()
	got := p.took(method)
	if len(got) != len(texts) {
		t.Errorf("asked %d times for %s, want %q", len(got), method, texts)
		return
	}
	for i, text := range texts {
		if !strings.Contains(string(got[i].params), text) {
			t.Errorf("asked for %s with %s, want %q in it", method, got[i].params, text)
		}
	}
}

// progresses wants every step of the way under the token of the call.
func (p *party) progresses(t *testing.T, tool string) {
	t.Helper()
	p.works(tool, obj{}, "3 steps done", obj{"progressToken": "steps"})
	for _, step := range []string{"0", "50", "100"} {
		p.await("progress "+step, func(m ide.Message) bool { return p.isProgress(m, `"steps"`, step) })
	}
}

func (p *party) isProgress(m ide.Message, token, progress string) bool {
	var n struct{ ProgressToken, Progress json.RawMessage }
	return m.Method == "notifications/progress" && json.Unmarshal(m.Params, &n) == nil && string(n.ProgressToken) == token && string(n.Progress) == progress
}

// cancels takes a call back once it is with the child; the child must be told.
func (p *party) cancels(t *testing.T, prefix string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.tried(ctx, "tools/call", obj{"name": prefix + "wait", "arguments": obj{"ms": 600_000}, "_meta": obj{"progressToken": "waits"}})
	}()
	p.await("that it waits", func(m ide.Message) bool { return p.isProgress(m, `"waits"`, "1") })
	cancel()
	<-ended
	p.works(prefix+"await_cancelled", obj{}, "a wait was cancelled")
}

// boundary holds that the roots of this client are the boundary.
func (p *party) boundary(t *testing.T, w *world.World) {
	t.Helper()
	inside := w.Path("project", "hello.txt")
	p.works("kid__takes_path", obj{"path": inside}, inside)
	for _, path := range []string{"/etc/passwd", w.Path("project", "link-file")} {
		text, failed := p.tool("kid__takes_path", obj{"path": path})
		if !failed || !strings.HasPrefix(text, world.Denial(path, w.Project)) {
			t.Errorf("%s: %q (failed: %v)", path, text, failed)
		}
	}
	text, failed := p.tool("get-roots", obj{})
	if failed || !strings.Contains(text, ide.FileURI(w.Project)) {
		t.Errorf("get-roots: %s", text)
	}
}

// meets starts the hub and connects a party to it, with a witness between them.
func meets(h *world.Witnessed, p *party, overWeb bool) {
	h.W.T.Helper()
	if overWeb {
		between := h.OnWeb()
		h.Front = between.Talk
		p.overWeb(between.URL)
	} else {
		p.overPipe(h.W, world.Hub(h.W.T), h.Serve()...)
		h.Front = p.pipe.Talk
	}
	h.W.T.Cleanup(func() { h.Front.Judge(h.W.T, "this very test", spectest.Client) })
}

// reached returns all that the hub has said to the child.
func reached(h *world.Witnessed) string {
	h.W.T.Helper()
	if h.Kid == nil {
		b, err := os.ReadFile(h.W.Record("kid"))
		world.Must(h.W.T, err)
		return string(b)
	}
	h.Kid.Mu.Lock()
	defer h.Kid.Mu.Unlock()
	var all []string
	for _, p := range h.Kid.Posts {
		all = append(all, p.Body)
	}
	return strings.Join(all, "\n")
}
