package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"mcphub/internal/jsonrpc"
)

// serverEvent is one event of a text/event-stream (WHATWG HTML, server-sent
// events).
type serverEvent struct {
	name  string // "" is "message"
	data  []byte // lines joined by a blank: a line end in JSON stands between tokens
	id    string // last id seen on the stream
	retry time.Duration
}

// eventReader reads events, each of at most limit bytes.
type eventReader struct {
	r     *bufio.Reader
	limit int
	id    string
	retry time.Duration
	rest  [][]byte // of the messages that came in one event

	begun   bool // a line was read
	afterCR bool // the last one ended with CR: an LF belongs to that end
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

var errLongEvent = errors.New("an event is over the frame limit")

// nextEvent returns the next event that has data, or moves the id on without any.
// It fails for good with the error of the stream. Of a batch each message is an
// event. The end of the stream ends an event too, as for the SDK for Go. Such a one may be cut off, so that its id does not count.
func (e *eventReader) nextEvent() (serverEvent, error) {
	var ev serverEvent
	if len(e.rest) > 0 {
		ev.data, ev.id, ev.retry = e.rest[0], e.id, e.retry
		e.rest = e.rest[1:]
		return ev, nil
	}
	seen, id := false, e.id
	var data []byte
	for {
		line, err := e.readLine(len(data))
		if err != nil && (!errors.Is(err, io.EOF) || len(data) == 0) {
			return ev, err
		}
		if len(line) == 0 {
			if !seen {
				continue
			}
			if err == nil {
				e.id = id
			}
			all := messagesOf(data)
			ev.data, ev.id, ev.retry = all[0], e.id, e.retry
			e.rest = all[1:]
			return ev, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if len(data) > 0 {
				data = append(data, ' ')
			}
			data, seen = append(data, value...), true
		case "event":
			ev.name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 && len(value) <= 1024 {
				id, seen = string(value), true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
				e.retry, seen = time.Duration(ms)*time.Millisecond, true
			}
		}
	}
}

// messagesOf gives the messages of a batch, else raw: a server of 2025-03-26 may
// send several in one array, and what is in one that cannot be read is for others
// to say.
func messagesOf(raw []byte) [][]byte {
	if bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")) {
		if all, err := jsonrpc.Messages(raw); err == nil {
			return all
		}
	}
	return [][]byte{raw}
}

// readLine reads up to LF, CR LF or CR. It does not wait for what may follow a CR. The result is valid until the next call
// unless it had to be put together.
func (e *eventReader) readLine(held int) ([]byte, error) {
	var whole []byte
	for {
		if e.r.Buffered() == 0 {
			if _, err := e.r.Peek(1); err != nil {
				if errors.Is(err, io.EOF) && whole != nil {
					return whole, nil
				}
				return nil, err
			}
		}
		part, _ := e.r.Peek(e.r.Buffered()) // which needs no reading
		if e.afterCR && part[0] == '\n' {
			part = part[1:]
			_, _ = e.r.Discard(1)
		}
		e.afterCR = false
		end := bytes.IndexByte(part, '\n')
		if end >= 0 {
			part = part[:end]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			end, part, e.afterCR = cr, part[:cr], true
		}
		if held+len(whole)+len(part) > e.limit {
			return nil, fmt.Errorf("%w of %d bytes", errLongEvent, e.limit)
		}
		if end < 0 {
			whole = append(whole, part...)
			_, _ = e.r.Discard(len(part))
			continue
		}
		_, _ = e.r.Discard(end + 1)
		if whole != nil {
			part = append(whole, part...)
		}
		if !e.begun {
			e.begun = true
			part = withoutMark(part)
		}
		return part, nil
	}
}

// byteOrderMark may stand before what a server sends. Decoders of UTF-8 leave it out, as fetch does.
var byteOrderMark = []byte("\ufeff")

func withoutMark(b []byte) []byte { return bytes.TrimPrefix(b, byteOrderMark) }
