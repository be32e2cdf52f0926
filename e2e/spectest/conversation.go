package spectest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Fault is a message that the specification does not allow.
type Fault struct {
	From    Party
	Why     string
	Message string // the JSON text
}

func (f Fault) String() string {
	text := f.Message
	if len(text) > 1000 {
		text = text[:1000] + "..."
	}
	return fmt.Sprintf("from the %s: %s\n  %s", f.From, f.Why, text)
}

// Conversation is what one client and one server say to each other, judged message by message.
type Conversation struct {
	mu       sync.Mutex // guards all below
	faults   []Fault
	judged   map[string]int // messages held against a schema, by "version method"
	unjudged int
	legacy   handshake
	open     map[Party]map[string]*question // requests without an answer, by who asked and raw id
	listens  map[string]*question           // subscriptions/listen, by raw id; they stay when they are answered
	watched  map[string]bool                // resources/subscribe so far
	tasked   bool                           // a task was made
}

// handshake is what was agreed on in the era with one.
type handshake struct {
	version      string // "" before initialize is answered
	capabilities json.RawMessage
}

// question is a request.
type question struct {
	method       string
	version      string
	capabilities json.RawMessage // of the client, for this request
	token        string          // of its progress, raw
	last         *float64        // the progress reported last
	task         bool
	log          bool            // log messages were asked for
	acknowledged bool            // of a listen
	filter       json.RawMessage // of a listen
}

// NewConversation gives one in which nothing was said yet.
func NewConversation() *Conversation {
	return &Conversation{judged: map[string]int{}, open: map[Party]map[string]*question{Client: {}, Server: {}},
		listens: map[string]*question{}, watched: map[string]bool{}}
}

// Faults gives what a party did wrong so far.
func (c *Conversation) Faults(of Party) []Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.faults), func(f Fault) bool { return f.From != of })
}

// Judged counts the messages that were held against a schema so far, by version and method, or "version result of method".
func (c *Conversation) Judged() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.judged)
}

// message is one with its raw members, nil where absent.
type message struct {
	raw                       []byte
	id, params, result, error json.RawMessage
	method                    string
}

// Saw takes the next message: one JSON text.
func (c *Conversation) Saw(from Party, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var members map[string]json.RawMessage
	m := message{raw: text}
	if err := json.Unmarshal(text, &members); err != nil {
		c.addFault(from, m, "no JSON object: %v", err)
		return
	}
	m.id, m.params, m.result, m.error = members["id"], members["params"], members["result"], members["error"]
	if raw, ok := members["method"]; ok && json.Unmarshal(raw, &m.method) != nil {
		c.addFault(from, m, "the method is no string")
		if m.id != nil {
			c.open[from][string(m.id)] = &question{version: lastHandshake} // may be answered with an error
		}
		return
	}
	switch {
	case m.method == "":
		c.takeAnswer(from, m)
	case m.id == nil:
		c.takeNotification(from, m)
	case string(m.id) == "null":
		c.addFault(from, m, "a request without an id of its own")
	default:
		c.takeRequest(from, m)
	}
}

func (c *Conversation) addFault(from Party, m message, format string, args ...any) {
	c.faults = append(c.faults, Fault{From: from, Why: fmt.Sprintf(format, args...), Message: string(m.raw)})
}

// checkMessage checks a message against a definition and counts it. Without a schema for the version it counts that.
func (c *Conversation) checkMessage(from Party, m message, version, what, definition string, text []byte) {
	s := load(version)
	if s == nil {
		c.unjudged++
		return
	}
	c.judged[version+" "+what]++
	if err := s.checkText(text, definition); err != nil {
		c.addFault(from, m, "%v", err)
	}
}

func (c *Conversation) takeRequest(from Party, m message) {
	q := &question{method: m.method, version: c.versionOf(from, m), task: getPath(m.params, "task") != nil, token: string(getPath(m.params, "_meta", "progressToken"))}
	q.capabilities = c.legacy.capabilities
	if q.version >= Modern {
		q.capabilities = getPath(m.params, "_meta", "io.modelcontextprotocol/clientCapabilities")
		q.log = getPath(m.params, "_meta", "io.modelcontextprotocol/logLevel") != nil
	}
	if c.open[from][string(m.id)] != nil {
		c.addFault(from, m, "the id of a request that has no answer yet")
	}
	c.open[from][string(m.id)], c.tasked = q, c.tasked || q.task
	if s := load(q.version); s != nil {
		name := s.methods[m.method]
		switch {
		case from == Server && q.version >= Modern:
			c.addFault(from, m, "a request to a client of the era without a handshake")
		case name == "" && extension[m.method] && q.version >= Modern:
			name = "JSONRPCRequest"
		case !s.senders[from][name]:
			c.addFault(from, m, "%s has no %s from a %s", q.version, m.method, from)
			name = "JSONRPCRequest"
		}
		c.checkMessage(from, m, q.version, m.method, name, m.raw)
	} else {
		c.unjudged++
	}
	switch {
	case from == Server:
		c.judgeAsked(m, q)
	case m.method == "subscriptions/listen":
		q.filter = getPath(m.params, "notifications")
		c.listens[string(m.id)] = q
	case m.method == "resources/subscribe":
		c.watched[string(getPath(m.params, "uri"))] = true
	case m.method == "initialize":
		c.legacy.capabilities = getPath(m.params, "capabilities")
	}
}

// extension are the methods of the tasks extension, which has no schema of its own here.
var extension = map[string]bool{"tasks/get": true, "tasks/update": true, "tasks/cancel": true, "notifications/tasks": true}

// versionOf tells to which version a request belongs.
func (c *Conversation) versionOf(from Party, m message) string {
	var version string
	if from == Client {
		if json.Unmarshal(getPath(m.params, "_meta", "io.modelcontextprotocol/protocolVersion"), &version) == nil && version != "" {
			return version
		}
		switch m.method {
		case "server/discover":
			return Modern
		case "initialize":
			if json.Unmarshal(getPath(m.params, "protocolVersion"), &version) == nil && load(version) != nil {
				return version
			}
			return lastHandshake
		}
	}
	switch {
	case c.legacy.version != "":
		return c.legacy.version
	case from == Server && c.legacy.capabilities == nil:
		return Modern // there was no initialize
	}
	return lastHandshake
}

// lastHandshake is the newest version with a handshake.
const lastHandshake = "2025-11-25"

func (c *Conversation) takeAnswer(from Party, m message) {
	q := c.open[from.otherParty()][string(m.id)]
	if q == nil {
		// What is no request at all is answered under the id null, or none.
		if m.error == nil || m.id != nil && string(m.id) != "null" {
			c.addFault(from, m, "an answer to nothing that waits for one")
		}
		return
	}
	delete(c.open[from.otherParty()], string(m.id))
	s := load(q.version)
	switch {
	case m.error != nil && s == nil:
		// A version that no one knows is refused in the terms of the newest.
		c.checkMessage(from, m, Modern, "error for "+q.method, load(Modern).failureOf(parseNumber(getPath(m.error, "code"))), m.raw)
	case m.error != nil:
		code := parseNumber(getPath(m.error, "code"))
		c.checkMessage(from, m, q.version, "error for "+q.method, s.failureOf(code), m.raw)
		if q.version >= Modern && (code == -32002 || code == -32042) {
			c.addFault(from, m, "the error %d is of the era with a handshake", code)
		}
	case m.result == nil:
		c.addFault(from, m, "neither a result nor an error")
	case q.method == "initialize":
		c.agreeVersion(from, m)
	case s == nil:
		c.unjudged++
	default:
		c.checkResult(from, m, q, s)
	}
}

func (c *Conversation) agreeVersion(from Party, m message) {
	var version string
	if json.Unmarshal(getPath(m.result, "protocolVersion"), &version) != nil || version == "" {
		c.addFault(from, m, "a result of initialize without a version")
		return
	}
	c.legacy.version = version
	c.checkMessage(from, m, version, "result of initialize", "InitializeResult", m.result)
}

func (c *Conversation) checkResult(from Party, m message, q *question, s *schema) {
	definition := s.resultOf(q.method, q.task)
	var kind string
	if q.version >= Modern {
		_ = json.Unmarshal(getPath(m.result, "resultType"), &kind) // what is no string is a fault by the schema
		switch {
		case kind == "input_required" && !asksInside[q.method]:
			c.addFault(from, m, "%s is not answered with questions", q.method)
		case kind == "input_required":
			definition = "InputRequiredResult"
			c.judgeQuestions(from, m, q)
		case kind == "task":
			definition, c.tasked = "Result", true
		case kind != "complete" && (kind == "" || s.methods[q.method] != ""): // a method of an extension may have types of its own
			c.addFault(from, m, "an unknown resultType")
		}
	}
	if definition == "" {
		definition = "Result"
	}
	c.checkMessage(from, m, q.version, "result of "+q.method, definition, m.result)
}

// getPath walks into an object. It gives nil if there is nothing.
func getPath(text json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return nil
		}
		text = members[name]
	}
	return text
}

func parseNumber(text json.RawMessage) int64 {
	var n int64
	_ = json.Unmarshal(text, &n)
	return n
}
