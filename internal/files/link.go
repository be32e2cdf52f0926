package files

import (
	"bufio"
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/nesting"
)

const (
	frameLimit  = 64 << 20 // bytes of one line, either way: what a hub in front takes
	maxRequests = 4096     // accepted and not yet answered
)

// link is the line protocol with one client: it splits frames, matches answers
// to our own requests, cancels, and writes one line at a time. Requests and
// notifications of the client go to handle.
//
// The read side is driven by [link.frame], from one goroutine; everything else
// may be called from any. mu guards the tables and is never held while writing;
// out is guarded by write.
type link struct {
	// handle serves one request of the client: on the read loop for what inline
	// names, else on a goroutine of its own. notify is called on the read loop.
	handle func(ctx context.Context, method string, params jsontext.Value) mcp.JSONRPCMessage
	inline func(method string) bool
	notify func(method string)
	fail   context.CancelCauseFunc // ends the session, when nothing can be written

	write sync.Mutex
	out   io.Writer
	wg    sync.WaitGroup

	mu      sync.Mutex
	next    uint64
	pending map[string]chan answer        // our requests
	serving map[string]context.CancelFunc // the client's
	closed  bool
}

type answer struct {
	result []byte
	err    error
}

var errEnded = errors.New("the client is gone")

// frame takes one line of the client. It never waits for anything but room to
// write an error.
func (l *link) frame(ctx context.Context, line []byte) {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return
	}
	if nesting.TooDeep(line, mostDepth) >= 0 {
		l.refuse(outerID(line), mcp.INVALID_REQUEST, fmt.Sprintf("Invalid request: it nests deeper than %d levels", mostDepth))
		return
	}
	var m struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  *string        `json:"method"`
		Params  jsontext.Value `json:"params"`
		Result  jsontext.Value `json:"result"`
		Error   jsontext.Value `json:"error"`
	}
	if err := json.Unmarshal(line, &m, jsontext.AllowInvalidUTF8(true)); err != nil {
		l.refuseLine(line)
		return
	}
	id := string(m.ID)
	switch {
	case m.Version != "2.0":
		l.refuse(m.ID, mcp.INVALID_REQUEST, `Invalid request: "jsonrpc" must be "2.0"`)
	case m.Method == nil && id != "" && (m.Result != nil || m.Error != nil):
		l.deliver(id, m.Result, m.Error)
	case m.Method == nil:
		l.refuse(m.ID, mcp.INVALID_REQUEST, "Invalid request: no method")
	case *m.Method == "notifications/cancelled":
		l.cancelled(m.Params)
	case id == "":
		l.notify(*m.Method)
	case m.ID.Kind() != '"' && m.ID.Kind() != '0':
		l.refuse(nil, mcp.INVALID_REQUEST, "Invalid request: the id must be a string or a number")
	default:
		l.request(ctx, m.ID, *m.Method, m.Params)
	}
}

// mostDepth bounds the nesting of a message: what reads it recurses.
const mostDepth = 1000

// outerID finds the id of a message that nests too deep to be read as a whole.
func outerID(line []byte) jsontext.Value {
	in := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := in.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for {
		name, err := in.ReadToken()
		if err != nil || name.Kind() != '"' {
			return nil
		}
		if kind := in.PeekKind(); name.String() == "id" && (kind == '"' || kind == '0') {
			id, err := in.ReadValue()
			if err != nil {
				return nil
			}
			return id.Clone()
		}
		if in.SkipValue() != nil { // token by token
			return nil
		}
	}
}

// refuseLine answers a line that is no message, under its id if one can be found:
// its sender may be waiting.
func (l *link) refuseLine(line []byte) {
	lenient := []json.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method jsontext.Value `json:"method"`
	}
	err := json.Unmarshal(line, &m, lenient...)
	switch {
	case err == nil && m.Method != nil && (m.ID.Kind() == '"' || m.ID.Kind() == '0'):
		l.refuse(m.ID, mcp.INVALID_REQUEST, "Invalid request: a name occurs twice, or a member has the wrong type")
	case jsontext.Value(line).IsValid(lenient...):
		l.refuse(nil, mcp.INVALID_REQUEST, "Invalid request: not a JSON-RPC 2.0 message")
	default:
		l.refuse(nil, mcp.PARSE_ERROR, "Parse error: one line must hold one JSON object")
	}
}

// request serves one request. It can be cancelled from before it starts.
func (l *link) request(ctx context.Context, id jsontext.Value, method string, params jsontext.Value) {
	ctx, cancel := context.WithCancel(ctx)
	key := string(id)
	l.mu.Lock()
	_, twice := l.serving[key]
	busy := len(l.serving) >= maxRequests
	if !twice && !busy {
		l.serving[key] = cancel
	}
	l.mu.Unlock()
	if twice || busy {
		cancel()
		text := "Busy: too many requests are waiting, try again later"
		if twice {
			text = "Invalid request: this id is still in use"
		}
		l.refuse(id, mcp.INVALID_REQUEST, text)
		return
	}
	serve := func() {
		resp := l.handle(ctx, method, params)
		gone := ctx.Err() != nil // cancelled: the protocol wants no answer
		l.mu.Lock()
		delete(l.serving, key)
		l.mu.Unlock()
		cancel()
		if !gone {
			l.respond(id, resp)
		}
	}
	if l.inline(method) {
		serve()
		return
	}
	l.wg.Go(serve)
}

func (l *link) cancelled(params jsontext.Value) {
	var p struct {
		ID jsontext.Value `json:"requestId"`
	}
	if json.Unmarshal(params, &p, jsontext.AllowInvalidUTF8(true)) != nil {
		return
	}
	l.mu.Lock()
	cancel := l.serving[string(p.ID)]
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (l *link) deliver(id string, result, failed []byte) {
	a := answer{result: bytes.Clone(result)}
	if failed != nil {
		a.err = fmt.Errorf("the client answered with an error: %s", clip(string(failed), 500))
	}
	l.mu.Lock()
	ch := l.pending[id]
	delete(l.pending, id)
	l.mu.Unlock()
	if ch != nil { // an answer never asked for is ignored
		ch <- a
	}
}

// call sends a request without params to the client and waits for its result.
func (l *link) call(ctx context.Context, method string) ([]byte, error) {
	ch := make(chan answer, 1)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, errEnded
	}
	l.next++
	id := strconv.FormatUint(l.next, 10)
	l.pending[id] = ch
	l.mu.Unlock()
	l.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method))
	select {
	case a := <-ch:
		return a.result, a.err
	case <-ctx.Done():
		l.mu.Lock()
		delete(l.pending, id)
		l.mu.Unlock()
		return nil, ctx.Err()
	}
}

// end fails our requests: no answer can come any more.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for id, ch := range l.pending {
		ch <- answer{err: errEnded}
		delete(l.pending, id)
	}
}

// respond writes the answer of a request under the very id it came with.
func (l *link) respond(id jsontext.Value, resp mcp.JSONRPCMessage) {
	var body any
	part := "result"
	switch r := resp.(type) {
	case mcp.JSONRPCResponse:
		body = r.Result
	case mcp.JSONRPCError:
		part, body = "error", r.Error
	default:
		part, body = "error", mcp.NewJSONRPCErrorDetails(mcp.INTERNAL_ERROR, "no answer was made", nil)
	}
	raw, err := stdjson.Marshal(body)
	if err != nil {
		l.refuse(id, mcp.INTERNAL_ERROR, "the answer cannot be written as JSON: "+err.Error())
		return
	}
	if len(raw)+len(id) > frameLimit-64 {
		part = "result"
		raw, _ = stdjson.Marshal(mcp.NewToolResultErrorf(
			"The answer would be %d bytes as JSON; at most %d can be sent at once. Ask for less: use head or tail, or fewer paths.", len(raw), frameLimit))
	}
	l.send(fmt.Appendf(make([]byte, 0, len(raw)+len(id)+48), `{"jsonrpc":"2.0","id":%s,"%s":%s}`, id, part, raw))
}

func (l *link) refuse(id jsontext.Value, code int, text string) {
	if len(id) == 0 {
		id = jsontext.Value("null")
	}
	raw, _ := stdjson.Marshal(mcp.NewJSONRPCErrorDetails(code, text, nil)) // an int and a string: cannot fail
	l.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, raw))
}

func (l *link) send(frame []byte) {
	l.write.Lock()
	defer l.write.Unlock()
	if _, err := l.out.Write(append(frame, '\n')); err != nil {
		l.fail(fmt.Errorf("write to the client: %w", err))
	}
}

// lines hands out each line of in until it ends, ctx ends, or reading fails; then
// end gets the error of reading, nil for a plain end, and is closed. A line over
// the limit comes as nil.
func lines(ctx context.Context, in io.Reader, each chan<- []byte, end chan<- error) {
	defer close(end)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		if err == nil || len(line) > 0 {
			select {
			case each <- line:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			end <- err
			return
		}
	}
}

// readLine reads up to the next newline. A line that is too long is read to its
// end and dropped: nil without an error.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	var long bool
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > frameLimit {
			line, long = nil, true
		}
		if !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if line == nil && err == nil && !long {
				line = []byte{}
			}
			return line, err
		}
	}
}
