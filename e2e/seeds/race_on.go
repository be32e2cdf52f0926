//go:build race

package seeds

// share is how much of its cases a test tries with the race detector, which makes each several times as slow: a quarter. Without the
// detector all of them are tried.
const share = 4
