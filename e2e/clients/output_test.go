package clients

import (
	"strings"
	"sync"

	"mcphub/e2e/world"
)

// output is what the programs of a world have printed so far.
type output struct {
	mu    sync.Mutex
	lines []string
}

// listenTo keeps all that the programs of a world print from now on.
func listenTo(w *world.World) *output {
	o := &output{}
	w.Heard = func(line string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.lines = append(o.lines, line)
	}
	return o
}

// countLines counts the lines that begin with a text.
func (o *output) countLines(begin string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range o.lines {
		if strings.HasPrefix(line, begin) {
			n++
		}
	}
	return n
}

// joinLines returns all lines.
func (o *output) joinLines() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.lines, "\n")
}
