package events

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// WriteTimeout is how long a client may take nothing of what is written.
const WriteTimeout = 30 * time.Second

// writeChunk is how much is written under one WriteTimeout, in bytes.
const writeChunk = 256 << 10

// eventWriter writes server-sent events.
type eventWriter struct {
	w      http.ResponseWriter
	c      *http.ResponseController
	stream string
	buf    []byte
}

// prime tells an id without a message, from which the client may go on should
// its connection end before there is one, and when (2025-11-25, Streamable HTTP).
func (o *eventWriter) prime(number uint64) bool {
	b := append(o.id(nil, number), "retry: "...)
	b = append(strconv.AppendInt(b, retryTime.Milliseconds(), 10), "\ndata: \n\n"...)
	return o.write(b) && o.flush()
}

func (o *eventWriter) id(b []byte, number uint64) []byte {
	if o.stream == "" {
		return b
	}
	b = append(append(append(b, "id: "...), o.stream...), '-')
	return append(strconv.AppendUint(b, number, 10), '\n')
}

func (o *eventWriter) event(number uint64, e Event) bool {
	o.buf = append(o.id(append(o.buf[:0], "event: message\n"...), number), "data: "...)
	for _, p := range e.Parts {
		// A line end in a frame stands between tokens; a field of an event ends
		// there, so the rest is another line of the same field.
		for {
			i := bytes.IndexAny(p, "\r\n")
			if i < 0 {
				break
			}
			if !o.part(p[:i]) {
				return false
			}
			o.buf = append(o.buf, "\ndata: "...)
			if p[i] == '\r' && i+1 < len(p) && p[i+1] == '\n' {
				i++
			}
			p = p[i+1:]
		}
		if !o.part(p) {
			return false
		}
	}
	o.buf = append(o.buf, "\n\n"...)
	b := o.buf
	o.buf = o.buf[:0]
	return o.write(b)
}

// part adds bytes of a frame: small ones are gathered, large ones written from
// where they are.
func (o *eventWriter) part(p []byte) bool {
	if len(p) <= 16<<10 {
		o.buf = append(o.buf, p...)
		return true
	}
	b := o.buf
	o.buf = o.buf[:0]
	return o.write(b) && o.write(p)
}

func (o *eventWriter) comment() bool { return o.write([]byte(": \n\n")) && o.flush() }

func (o *eventWriter) write(b []byte) bool { return Write(o.w, o.c, b) }

func (o *eventWriter) flush() bool { return o.c.Flush() == nil }

// WriteHeader begins a response that is a stream.
func WriteHeader(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// Write writes to a client that may be slow but must go on taking.
func Write(w http.ResponseWriter, c *http.ResponseController, b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), writeChunk)
		_ = c.SetWriteDeadline(time.Now().Add(WriteTimeout))
		if _, err := w.Write(b[:n]); err != nil {
			return false
		}
		b = b[n:]
	}
	return true
}
