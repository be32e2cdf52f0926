package ide

import (
	"bytes"
	"fmt"
	"regexp"
	"sync"
)

// transcript is all that was heard, and what may be said about roots.
type transcript struct {
	mu        sync.Mutex // guards all below
	messages  []Message
	changed   chan struct{} // closed and replaced when a line comes
	stderr    bytes.Buffer
	sent      int            // the last id given out
	expected  map[string]int // answers due, by raw id
	surprises []string
	widening  []string
	roots     Roots
	questions int // roots/list so far
}

func (t *transcript) init(r Roots) {
	t.changed, t.expected, t.roots = make(chan struct{}), map[string]int{}, r
}

// add takes one line; cut says that it ended without an end of line. It gives what a question for the roots is answered with,
// and how many there were: they are counted in the order in which they came, before anybody can see the line.
func (t *transcript) add(m Message, cut bool) (Roots, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case m.Fault != "":
		t.surprises = append(t.surprises, fmt.Sprintf("%s: %s", m.Fault, clip(m.Raw)))
	case cut:
		t.surprises = append(t.surprises, fmt.Sprintf("a line without an end: %s", clip(m.Raw)))
	case m.IsAnswer() && string(m.ID) != "null":
		if t.expected[string(m.ID)]--; t.expected[string(m.ID)] < 0 {
			t.surprises = append(t.surprises, fmt.Sprintf("an answer that nobody waits for: %s", clip(m.Raw)))
		}
	}
	if said := widening(m.Raw); said != nil {
		t.widening = append(t.widening, fmt.Sprintf("%q in %s", said, clip(m.Raw)))
	}
	if m.IsRequest() && m.Method == "roots/list" {
		t.questions++
	}
	t.messages = append(t.messages, m)
	close(t.changed)
	t.changed = make(chan struct{})
	return t.roots, t.questions
}

// since gives the messages from the nth on, and a channel that closes when another comes.
func (t *transcript) since(n int) ([]Message, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.messages[n:len(t.messages):len(t.messages)], t.changed
}

func (t *transcript) addStderr(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stderr.Write(b)
}

func (t *transcript) stderrText() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stderr.String()
}

func (t *transcript) nextID() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	return t.sent
}

func (t *transcript) expect(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected[id]++
}

func (t *transcript) setRoots(r Roots) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.roots = r
}

// Violations names every line so far that broke the protocol: no JSON-RPC, or an answer that no request of this client is
// waiting for.
func (c *Client) Violations() []string {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return append([]string(nil), c.log.surprises...)
}

// widens matches what opens something to a server if it is run or written: no text for a client holds it, because a model may read
// it and have a shell.
var widens = regexp.MustCompile(`mcphub (?:allow|revoke|learn|restart|disable|enable|add|reload|approve)\b|sandbox\.(?:read|write|sockets|mode)\b|MCPHUB_SANDBOX|\\?"sandbox\\?": *\\?"off|\\?"widen\\?"`)

// widening returns what widens in a message; nil for nothing. The expression is slow, and messages may be large.
func widening(raw []byte) []byte {
	for _, word := range []string{"mcphub ", "andbox", "MCPHUB_SANDBOX", "widen"} {
		if bytes.Contains(raw, []byte(word)) {
			return widens.Find(raw)
		}
	}
	return nil
}

// Widening names every text so far by which a model could open something to a server.
func (c *Client) Widening() []string {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return append([]string(nil), c.log.widening...)
}
