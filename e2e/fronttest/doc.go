// Package fronttest helps to test what is served over Streamable HTTP: a front that
// runs for the time of a test, on a socket or in memory, requests to it, and its
// answers read message by message.
//
// Concurrency: [Run] starts one goroutine, which has ended when the test is over.
// The rest may be called by any goroutine of a test.
//
// It refuses to know what is served: a real hub, or a fake one.
package fronttest
