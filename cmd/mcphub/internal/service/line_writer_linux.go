package service

import (
	"bytes"
	"sync"
	"time"

	"mcphub/internal/stdio"
)

const (
	maxLines  = 256         // that wait to be written to a client's standard error
	lastWords = time.Second // for the ones that wait when the session ends
)

// A lineWriter is the log of one client among others: who writes to it waits for no client. Lines for which there is
// no room are dropped.
type lineWriter struct {
	mu     sync.Mutex
	lines  chan []byte
	closed bool
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return len(b), nil
	}
	select {
	case w.lines <- bytes.Clone(b):
	default: // no one reads it
	}
	return len(b), nil
}

// runWriter writes what there is to f until close, and closes f.
func (w *lineWriter) runWriter(f stdio.Stream) {
	failed := false
	for line := range w.lines {
		if !failed {
			_, err := f.Write(line)
			failed = err != nil
		}
	}
	_ = f.Close()
}

// closeWriter ends run, which writes what waits for a moment longer.
func (w *lineWriter) closeWriter(f stdio.Stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	_ = f.SetWriteDeadline(time.Now().Add(lastWords)) // a file or a terminal takes them at once
	close(w.lines)
}
