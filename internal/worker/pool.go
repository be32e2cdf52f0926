package worker

import (
	"sync"
	"sync/atomic"
)

// A Pool does jobs side by side. A goroutine that has done its job waits for another
// one: a new goroutine would have to grow its stack again.
type Pool[Job any] struct {
	do   func(Job)
	most int32           // that wait at a time
	over <-chan struct{} // closed: no caller waits any more
	jobs chan Job        // to one that waits
	idle atomic.Int32    // how many wait
}

// NewPool makes a Pool in which most goroutines wait at a time, until over is closed.
func NewPool[Job any](do func(Job), most int, over <-chan struct{}) *Pool[Job] {
	return &Pool[Job]{do: do, most: int32(most), over: over, jobs: make(chan Job)}
}

// Go has a job done, and does not wait for it. A goroutine that it starts for that
// belongs to running.
func (p *Pool[Job]) Go(running *sync.WaitGroup, job Job) {
	select {
	case p.jobs <- job:
	default:
		running.Go(func() { p.workOn(job) })
	}
}

func (p *Pool[Job]) workOn(job Job) {
	for more := true; more; {
		p.do(job)
		if more = p.idle.Add(1) <= p.most; more {
			select {
			case job = <-p.jobs:
			case <-p.over:
				more = false
			}
		}
		p.idle.Add(-1)
	}
}
