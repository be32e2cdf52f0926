package exposition

import (
	"runtime"
	"time"
)

// Process adds what Prometheus' own clients tell about a process (process_) and of the
// runtime of Go (go_), under the same names. What a system does not tell is left out.
func (p *Page) Process() {
	var now usage
	var heap runtime.MemStats
	p.before = append(p.before, func() {
		now = usageNow()
		runtime.ReadMemStats(&heap)
	})
	add := func(name, kind, help string, value func() float64) {
		p.Func(Desc{Name: name, Help: help}, kind, func() (float64, bool) { v := value(); return v, v != 0 })
	}
	add("process_cpu_seconds_total", "counter", "Processor time of the hub itself, user and system.", func() float64 { return now.cpu.Seconds() })
	add("process_resident_memory_bytes", "gauge", "Memory of the hub itself that is resident.", func() float64 { return float64(now.resident) })
	add("process_virtual_memory_bytes", "gauge", "Address space of the hub itself.", func() float64 { return float64(now.virtual) })
	add("process_open_fds", "gauge", "File descriptors that are open.", func() float64 { return float64(now.open) })
	add("process_max_fds", "gauge", "File descriptors that may be open.", func() float64 { return float64(now.most) })
	began := float64(time.Now().UnixMilli()) / 1000
	add("process_start_time_seconds", "gauge", "When the hub began to count, since the epoch.", func() float64 { return began })

	p.Gauges(Desc{Name: "go_info", Help: "The version of Go that the hub is built with.", Labels: []Label{{Name: "version"}}}).With(runtime.Version()).Set(1)
	add("go_goroutines", "gauge", "Goroutines that run or wait.", func() float64 { return float64(runtime.NumGoroutine()) })
	add("go_sched_gomaxprocs_threads", "gauge", "Threads that run code of Go at the same time, at most.", func() float64 { return float64(runtime.GOMAXPROCS(0)) })
	add("go_memstats_alloc_bytes", "gauge", "Bytes of objects in the heap.", func() float64 { return float64(heap.Alloc) })
	add("go_memstats_sys_bytes", "gauge", "Bytes that the runtime has from the system.", func() float64 { return float64(heap.Sys) })
	add("go_memstats_mallocs_total", "counter", "Objects that were allocated.", func() float64 { return float64(heap.Mallocs) })
	add("go_memstats_frees_total", "counter", "Objects that were freed.", func() float64 { return float64(heap.Frees) })
	add("go_memstats_last_gc_time_seconds", "gauge", "When the last collection ended, since the epoch.", func() float64 { return float64(heap.LastGC) / 1e9 })
}

// CPUTime returns the processor time that this process has used, user and system; 0 if the system does not tell.
func CPUTime() time.Duration {
	var u usage
	u.ofSystem()
	return u.cpu
}

// usage is what a system tells about a process; zero what it does not.
type usage struct {
	cpu               time.Duration
	resident, virtual int64 // bytes
	open              int
	most              uint64
}
