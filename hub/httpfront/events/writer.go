package events

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// WriteTimeout is how long a client may take none of what is written.
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

// writePrime returns an id without a message, from which the client may go on
// should its connection end before there is one, and when (2025-11-25, Streamable
// HTTP).
func (w *eventWriter) writePrime(number uint64) bool {
	b := append(w.appendID(nil, number), "retry: "...)
	b = append(strconv.AppendInt(b, retryTime.Milliseconds(), 10), "\ndata: \n\n"...)
	return w.writeBytes(b) && w.flushBytes()
}

func (w *eventWriter) appendID(b []byte, number uint64) []byte {
	if w.stream == "" {
		return b
	}
	b = append(append(append(b, "id: "...), w.stream...), '-')
	return append(strconv.AppendUint(b, number, 10), '\n')
}

func (w *eventWriter) writeEvent(number uint64, e Event) bool {
	w.buf = append(w.appendID(append(w.buf[:0], "event: message\n"...), number), "data: "...)
	for _, p := range e.Parts {
		// A line end in a frame stands between tokens; a field of an event ends
		// there, so the rest is another line of the same field.
		for {
			i := bytes.IndexAny(p, "\r\n")
			if i < 0 {
				break
			}
			if !w.writePart(p[:i]) {
				return false
			}
			w.buf = append(w.buf, "\ndata: "...)
			if p[i] == '\r' && i+1 < len(p) && p[i+1] == '\n' {
				i++
			}
			p = p[i+1:]
		}
		if !w.writePart(p) {
			return false
		}
	}
	w.buf = append(w.buf, "\n\n"...)
	b := w.buf
	w.buf = w.buf[:0]
	return w.writeBytes(b)
}

// writePart adds bytes of a frame: small ones are gathered, large ones written from
// where they are.
func (w *eventWriter) writePart(p []byte) bool {
	if len(p) <= 16<<10 {
		w.buf = append(w.buf, p...)
		return true
	}
	b := w.buf
	w.buf = w.buf[:0]
	return w.writeBytes(b) && w.writeBytes(p)
}

func (w *eventWriter) writeComment() bool { return w.writeBytes([]byte(": \n\n")) && w.flushBytes() }

func (w *eventWriter) writeBytes(b []byte) bool { return Write(w.w, w.c, b) }

func (w *eventWriter) flushBytes() bool { return w.c.Flush() == nil }

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
