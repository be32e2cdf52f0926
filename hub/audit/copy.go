package audit

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"mcphub/internal/worker"
)

// A Copy writes the lines of a record to a stream as well, for a collector: each as it is in
// the file, once the file has it. It holds up no one: if the stream takes too little, whole
// lines are left out and counted. The record is the file.
//
// Its methods may be called from any goroutine; Run is called once.
type Copy struct {
	to      io.Writer
	dropped func(lines int) // learns how many lines were left out since it was told last; must not block
	news    chan struct{}

	mu      sync.Mutex
	cut     []byte // the begin of a line whose rest is not written yet
	pending []byte // whole lines
	left    int    // out, since dropped was called
}

// maxCopied bounds what waits for the stream, in bytes.
const maxCopied = 8 << 20

// lastCopies is how long the last lines may take when the record ends.
const lastCopies = time.Second

// NewCopy makes a Copy. dropped may be nil.
func NewCopy(to io.Writer, dropped func(lines int)) *Copy {
	if dropped == nil {
		dropped = func(int) {}
	}
	return &Copy{to: to, dropped: dropped, news: make(chan struct{}, 1)}
}

// takeBytes takes what was written to the file: lines, the last of which may be cut.
func (c *Copy) takeBytes(b []byte) {
	if c == nil || len(b) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	end := bytes.LastIndexByte(b, '\n') + 1
	if whole := b[:end]; end > 0 {
		if len(c.pending)+len(c.cut)+end > maxCopied {
			c.left += bytes.Count(whole, []byte{'\n'})
		} else {
			c.pending = append(append(c.pending, c.cut...), whole...)
		}
		c.cut = c.cut[:0]
	}
	c.cut = append(c.cut, b[end:]...)
	worker.Signal(c.news)
}

// Run writes until ctx ends, and then what is left, as far as the stream takes it within a
// second. If the stream takes nothing any more, a write may outlive Run: nothing ends it.
func (c *Copy) Run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for last := false; !last; {
			select {
			case <-c.news:
			case <-ctx.Done():
				last = true
			}
			c.writeLines()
		}
	}()
	<-ctx.Done()
	select {
	case <-done:
	case <-time.After(lastCopies):
	}
}

func (c *Copy) writeLines() {
	c.mu.Lock()
	lines, left := c.pending, c.left
	c.pending, c.left = nil, 0
	c.mu.Unlock()
	if len(lines) > 0 {
		if n, err := c.to.Write(lines); err != nil {
			left += bytes.Count(lines[n:], []byte{'\n'})
		}
	}
	if left > 0 {
		c.dropped(left)
	}
}
