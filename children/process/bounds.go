package process

import (
	"fmt"
	"time"

	"mcphub/children/program"
)

// watchEvery is how often it is looked whether a child keeps to its limits.
const watchEvery = 100 * time.Millisecond

// watchLimits ends the child, and all processes that descend from it, when they take more than its
// limits. It returns when the child has ended.
func (p *process) watchLimits() {
	var tick <-chan time.Time // never, if the kernel tells
	if !p.group.bounds.isGrouped() {
		t := time.NewTicker(watchEvery)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-p.ended:
			return
		case <-tick:
		case <-p.group.bounds.refused:
		}
		if what := p.group.exceededLimit(); what != "" {
			p.beyond.CompareAndSwap(nil, &what)
			p.group.killAtOnce()
			return
		}
	}
}

// beyondMemory and beyondProcesses report what a child took, for a person who mends its entry.
func beyondMemory(l program.Limits, took int64) string {
	text := fmt.Sprintf("it took more memory than limits.memory of its entry, %d MiB", l.Memory>>20)
	if took > 0 {
		text += fmt.Sprintf(": %d MiB", took>>20)
	}
	return text
}

func beyondProcesses(l program.Limits, had int) string {
	text := fmt.Sprintf("it had more processes and threads than limits.processes of its entry, %d", l.Processes)
	if had > 0 {
		text += fmt.Sprintf(": %d", had)
	}
	return text
}
