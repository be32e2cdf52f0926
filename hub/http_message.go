package hub

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"mcphub/internal/jsonrpc"
)

// This file reads the message of a POST and writes answers that are no stream.

// usualAccept is what the SDKs send.
const usualAccept = "application/json, text/event-stream"

// accepts tells which kinds of answer the client takes. No Accept is any.
func accepts(h http.Header) (plain, events bool) {
	values := h["Accept"]
	if len(values) == 0 {
		return true, false
	}
	if len(values) == 1 && values[0] == usualAccept {
		return true, true
	}
	for _, v := range values {
		for _, kind := range strings.Split(v, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				plain = true
			case "text/event-stream", "text/*":
				events = true
			case "*/*":
				plain, events = true, true
			}
		}
	}
	return plain, events
}

// greeting is the longest message, in bytes, of whoever is of no session.
const greeting = 1 << 20

// How many frames of the greatest length the requests of one session may fill,
// all together, and those of all: of each only what is beyond smallBody counts
// there, so that nobody's small requests wait for anybody's large ones.
const (
	heldBodies = 4
	allBodies  = 2 * heldBodies
	smallBody  = 64 << 10
)

// message reads the one message of a POST, bounded in size and time; c is nil
// where there is no session yet. A batch, where the session has those, comes as it
// is (isBatch). Where there is none the request is answered. What is held is given
// back with release, when the request is over.
func (f *httpFront) message(w http.ResponseWriter, r *http.Request, c *httpClient) (*jsonrpc.Message, *holding) {
	if kind := r.Header["Content-Type"]; len(kind) != 1 || !isJSON(kind[0]) {
		refuseHTTP(w, http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "send application/json, in UTF-8")
		return nil, nil
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		w.Header().Set("Accept-Encoding", "identity") // RFC 9110, 8.4
		refuseHTTP(w, http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "send the message as it is, without a Content-Encoding")
		return nil, nil
	}
	limit := int64(f.h.now().cfg.Limits.Frame)
	if c == nil {
		limit = min(limit, greeting)
	}
	if r.ContentLength > limit {
		refuseHTTP(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has %d bytes, more than %d", r.ContentLength, limit))
		return nil, nil
	}
	in := &struct {
		m    jsonrpc.Message
		held holding
	}{held: holding{r: r.Body, c: c, all: &f.bodies, frame: int64(f.h.now().cfg.Limits.Frame)}}
	if r.ContentLength < 0 { // else net/http reads no more than it says
		in.held.r = http.MaxBytesReader(w, r.Body, limit)
	}
	body, err := readBody(&in.held, r.ContentLength)
	if err == nil {
		err = jsonrpc.Split(body, true, &in.m)
	}
	if errors.Is(err, jsonrpc.ErrBatch) && c != nil && c.s.batches() {
		in.m, err = jsonrpc.Message{Frame: body}, nil
	}
	if text := in.m.LongID(f.h.now().cfg.Limits.ID); err == nil && text != "" {
		in.held.release()
		refuseRequest(w, http.StatusBadRequest, in.m.ID, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, text))
		return nil, nil
	}
	if err == nil {
		return &in.m, &in.held
	}
	in.held.release()
	var long *http.MaxBytesError
	var syntax *jsonrpc.SyntaxError
	switch {
	case errors.As(err, &long):
		refuseHTTP(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has more than %d bytes", limit))
	case errors.Is(err, errHeld):
		refuseBusy(w, err.Error())
	case errors.As(err, &syntax):
		refuseHTTP(w, http.StatusBadRequest, syntax.Code, err.Error())
	default:
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeParse, "the body could not be read")
	}
	return nil, nil
}

// isJSON reports whether a Content-Type is that of JSON, in UTF-8: there is no
// other (RFC 8259, 8.1), and whoever stands before the hub may read it as it says.
func isJSON(kind string) bool {
	if kind == "application/json" {
		return true
	}
	kind, params, err := mime.ParseMediaType(kind)
	if err != nil || kind != "application/json" {
		return false
	}
	charset := strings.ToLower(params["charset"])
	return charset == "" || charset == "utf-8" || charset == "utf8" || charset == "us-ascii"
}

// readBody reads to the end. length is what the request says of itself, -1 for
// nothing: memory is taken at once only for a short one, and for what has come
// of a long one, which is put together when it is whole. A buffer that grows
// would take three times as much.
func readBody(r io.Reader, length int64) ([]byte, error) {
	if length >= 0 && length <= smallBody {
		b := make([]byte, length)
		_, err := io.ReadFull(r, b)
		return b, err
	}
	var parts [][]byte
	for size := smallBody; ; size = min(2*size, 1<<20) {
		part := make([]byte, 0, size)
		for len(part) < size {
			n, err := r.Read(part[len(part):size])
			part = part[:len(part)+n]
			if err == io.EOF {
				return join(append(parts, part)), nil
			}
			if err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
}

var errHeld = errors.New("the requests that are being read or served hold too much already")

// holding counts what is read for a session, and for all, while it is being
// read: what a request says of its own length binds nobody.
type holding struct {
	r     io.Reader
	c     *httpClient // nil: none yet
	all   *atomic.Int64
	frame int64 // bytes of the longest message
	n     int64
}

func (h *holding) Read(b []byte) (int, error) {
	n, err := h.r.Read(b)
	before := h.large()
	h.n += int64(n)
	if h.c != nil && h.c.held.Add(int64(n)) > heldBodies*h.frame {
		return 0, errHeld
	}
	if more := h.large() - before; more > 0 && h.all.Add(more) > allBodies*h.frame {
		return 0, errHeld
	}
	return n, err
}

// large is what counts among all.
func (h *holding) large() int64 { return max(h.n-smallBody, 0) }

func (h *holding) release() {
	if h.c != nil {
		h.c.held.Add(-h.n)
	}
	h.all.Add(-h.large())
}

// keep counts an answer that is about to be written, until drop: what clients
// call for and do not read is held, all together, up to as much as their bodies.
// One that there is no room for becomes an error, but not the only one.
func (f *httpFront) keep(c *httpClient, a *jsonrpc.Answer) (n int64) {
	n = int64(len(a.Result) + len(a.Error))
	if n <= smallBody {
		return 0
	}
	frame := int64(f.h.now().cfg.Limits.Frame)
	own, all := c.unread.Add(n), f.unread.Add(n)
	if all == n || own <= heldBodies*frame && all <= allBodies*frame {
		return n
	}
	f.drop(c, n)
	if a.Release != nil {
		a.Release()
	}
	*a = jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, fmt.Sprintf("the answer has %d bytes, and too many wait to be read by their clients already; read those first, then send the request again", n))
	return 0
}

func (f *httpFront) drop(c *httpClient, n int64) {
	if n > 0 {
		c.unread.Add(-n)
		f.unread.Add(-n)
	}
}

// refuseHTTP answers with a status and a JSON-RPC error without an id.
func refuseHTTP(w http.ResponseWriter, status int, code int64, text string) {
	refuseRequest(w, status, []byte("null"), jsonrpc.ErrorAnswer(code, text))
}

func refuseRequest(w http.ResponseWriter, status int, id []byte, a jsonrpc.Answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	for _, p := range answerParts(id, a) {
		_, _ = w.Write(p)
	}
}

// refuseBusy asks a client to come again.
func refuseBusy(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "1")
	refuseHTTP(w, http.StatusTooManyRequests, jsonrpc.CodeInternal, text)
}

// primes reports whether a client of a protocol version expects streams to
// begin with an event without a message (2025-11-25; older ones may not read it).
func primes(protocol string) bool { return protocol >= "2025-11-25" }

func writeEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// jsonType is shared by all answers, and never changed.
var jsonType = []string{"application/json"}

// writePlain answers with a frame that is no stream.
func writePlain(w http.ResponseWriter, id []byte, a jsonrpc.Answer) {
	parts := answerParts(id, a)
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	if size > 1<<10 { // else net/http tells the length by itself
		h["Content-Length"] = []string{strconv.Itoa(size)}
	}
	if size <= 4<<10 {
		for _, p := range parts {
			_, _ = w.Write(p) // into the buffer of the connection
		}
		return
	}
	c := http.NewResponseController(w)
	for _, p := range parts {
		if !writeChunks(w, c, p) {
			return
		}
	}
}
