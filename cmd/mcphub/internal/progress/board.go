package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/cupwriter"

	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/internal/printable"
)

const (
	quiet = time.Second            // what is over by then shows no line
	pause = 250 * time.Millisecond // between two looks
)

// A Step is something that runs.
type Step struct {
	Name  string // what works: a server, a tool
	Phase string // what it does
}

// A Board is the place of the lines on one terminal.
type Board struct {
	file *os.File

	mu    sync.Mutex
	lines *cupwriter.Writer // what has drawn the lines that are shown; nil: none are
	shown string            // these lines
	over  func()            // ends the watch that runs; nil: none does
}

// New returns the Board of what may be a terminal.
func New(file *os.File) *Board { return &Board{file: file} }

// Watch shows the steps that look returns, again and again, until over is called or the next
// Watch begins. It calls look on a goroutine of its own.
func (b *Board) Watch(look func() []Step) (over func()) {
	b.End()
	if !layout.CanRedraw(b.file) {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	over = sync.OnceFunc(func() {
		close(stop)
		<-done
	})
	b.mu.Lock()
	b.over = over
	b.mu.Unlock()
	go func() {
		defer close(done)
		b.runWatch(look, stop)
	}()
	return over
}

// End ends the watch that runs, and takes its lines away.
func (b *Board) End() {
	b.mu.Lock()
	over := b.over
	b.over = nil
	b.mu.Unlock()
	if over != nil {
		over()
	}
}

func (b *Board) runWatch(look func() []Step, stop <-chan struct{}) {
	defer b.clearLines()
	began := time.Now()
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	var since map[string]time.Time
	for {
		select {
		case <-stop:
			return
		case now := <-timer.C:
			steps, run := look(), map[string]time.Time{}
			for _, s := range steps {
				began := began
				if at, known := since[s.Name]; known {
					began = at
				} else if since != nil {
					began = now
				}
				run[s.Name] = began
			}
			since = run
			b.drawSteps(steps, func(name string) time.Duration { return now.Sub(since[name]) })
			timer.Reset(pause)
		}
	}
}

// drawSteps replaces the lines that are shown.
func (b *Board) drawSteps(steps []Step, ran func(name string) time.Duration) {
	columns, rows := layout.Size(b.file)
	most, more := rows-2, "" // the cursor stands below the lines
	if len(steps) > most {
		steps, more = steps[:most], fmt.Sprintf("        … and %d more", len(steps)-most)
	}
	lines := make([]string, 0, rows)
	for _, s := range steps {
		lines = append(lines, printable.Line(fmt.Sprintf("%6s  %s: %s", ran(s.Name).Truncate(time.Second), s.Name, s.Phase)))
	}
	if more != "" {
		lines = append(lines, more)
	}
	text := ""
	for _, line := range lines {
		text += layout.Cut(line, columns-1) + "\n" // a full line would wrap on some terminals
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.lines == nil:
		b.lines = cupwriter.New(b.file, false)
	case text == b.shown:
		return
	}
	b.shown = text
	_, _ = b.lines.WriteString(text)
	_ = b.lines.Flush(len(lines)) // as any write for people: no one is told
}

// clearLines takes the lines away.
func (b *Board) clearLines() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clearLocked()
}

func (b *Board) clearLocked() {
	if b.lines != nil {
		_ = b.lines.Flush(0)
		b.lines = nil
	}
}

// Over returns a writer to a file, which may be the same terminal: what is written stands
// above the lines.
func (b *Board) Over(file *os.File) io.Writer { return above{b, file} }

type above struct {
	board *Board
	file  *os.File
}

func (a above) Write(p []byte) (int, error) {
	a.board.mu.Lock()
	defer a.board.mu.Unlock()
	a.board.clearLocked()
	return a.file.Write(p)
}

// Unwrap returns the file.
func (a above) Unwrap() io.Writer { return a.file }
