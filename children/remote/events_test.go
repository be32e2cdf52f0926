package remote

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines end in three ways, and a byte order mark may come first (WHATWG HTML, server-sent events). However the bytes arrive, the events are the same.
// The end of the stream ends an event, whose id does not count.
func TestLineEndsOfEvents(t *testing.T) {
	t.Parallel()
	const stream = "id: 1\ndata: {\"a\":\ndata: 1}\n\n: a comment\n\nevent: x\ndata: {\"b\":2}\n\nid: 2\ndata: cut off"
	for name, end := range map[string]string{"LF": "\n", "CR LF": "\r\n", "CR": "\r"} {
		for _, mark := range []string{"", "\ufeff"} {
			text := mark + strings.ReplaceAll(stream, "\n", end)
			for how, r := range map[string]io.Reader{"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
				e := newEventReader(r, 1000)
				var got []string
				for {
					ev, err := e.nextEvent()
					if err != nil {
						break
					}
					got = append(got, ev.name+ev.id+string(ev.data))
				}
				if want := []string{`1{"a": 1}`, `x1{"b":2}`, "1cut off"}; !slices.Equal(got, want) {
					t.Errorf("%s, %q before it, %s: %q", name, mark, how, got)
				}
			}
		}
	}
}

// An event is there as soon as its last line has ended.
func TestAnEventWaitsForNothing(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n", "\r"} {
		r, w := io.Pipe()
		e := newEventReader(r, 1000)
		go func() { _, _ = io.WriteString(w, "data: 1"+end+end) }()
		if ev, err := e.nextEvent(); err != nil || string(ev.data) != "1" {
			t.Errorf("%q: %q, %v", end, ev.data, err)
		}
		_ = r.Close()
	}
}

// An event that is too long is refused, however it is cut into lines.
func TestEventsThatAreTooLong(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"data: " + strings.Repeat("x", 100_000), strings.Repeat("data: x\r", 100) + "\r", strings.Repeat("data: xxxxxxxxx\n", 10) + "\n"} {
		if _, err := newEventReader(strings.NewReader(text), 60).nextEvent(); !errors.Is(err, errLongEvent) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
