// Package exposition keeps counters, gauges and histograms, and writes them as a page in
// the text format of Prometheus (version 0.0.4).
//
// It stands instead of prometheus/client_golang, which takes more than a millisecond and 230
// KB before main, of every process of the hub, whether it has metrics or not, and two
// megabytes of the program. docs/performance.md has the figures.
//
// # Concurrency
//
// Values are atomic: the one who has a Counter, a Gauge or a Histogram changes it without a
// lock. A Family finds one by the values of its labels under a lock of its own. A page is
// written from what there is at that moment; a histogram on it always adds up.
//
// # What it refuses to do
//
// A Family has no more series than its Desc allows: what comes later is counted together,
// under the value [Other]. It never waits, opens no port, and knows nothing about MCP.
package exposition
