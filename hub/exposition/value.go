package exposition

import (
	"strconv"
	"sync/atomic"
	"time"
)

// A Counter only grows.
type Counter struct{ n atomic.Uint64 }

// Add adds n.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

func (c *Counter) appendFamily(b []byte, at *series) []byte {
	return strconv.AppendUint(at.beginLine(b, "", ""), c.n.Load(), 10)
}

// A Gauge goes up and down.
type Gauge struct{ n atomic.Int64 }

// Add adds n, which may be negative.
func (g *Gauge) Add(n int64) { g.n.Add(n) }

// Set makes n its value.
func (g *Gauge) Set(n int64) { g.n.Store(n) }

func (g *Gauge) appendFamily(b []byte, at *series) []byte {
	return strconv.AppendInt(at.beginLine(b, "", ""), g.n.Load(), 10)
}

// A Histogram counts durations in buckets.
type Histogram struct {
	bounds []time.Duration
	counts []atomic.Uint64 // one more than bounds: what is above them all
	sum    atomic.Int64    // nanoseconds
}

// Observe counts one duration.
func (h *Histogram) Observe(d time.Duration) {
	i := 0
	for i < len(h.bounds) && d > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

func (h *Histogram) appendFamily(b []byte, at *series) []byte {
	var n uint64
	for i := range h.counts {
		n += h.counts[i].Load()
		le := "+Inf"
		if i < len(h.bounds) {
			le = strconv.FormatFloat(h.bounds[i].Seconds(), 'g', -1, 64)
		}
		b = strconv.AppendUint(at.beginLine(b, "_bucket", le), n, 10)
		b = append(b, '\n')
	}
	b = appendFloat(at.beginLine(b, "_sum", ""), time.Duration(h.sum.Load()).Seconds())
	b = append(b, '\n')
	return strconv.AppendUint(at.beginLine(b, "_count", ""), n, 10)
}

func appendFloat(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', -1, 64) }
