// Package ide is the fake editor of the end-to-end tests: a client that speaks raw JSON-RPC over the pipes of a process it
// starts, and that answers questions about its roots as a script tells it: at once, late, never, with an error, with nonsense.
//
// It keeps every line the process wrote, as it was written, and judges them: Widening names texts that no model should read, Violations names each line on stdout that is not
// JSON-RPC and each answer that no caller asked for. What it sends may be any bytes at all.
//
// Concurrency: a Client may be used by many goroutines. One goroutine reads stdout, one stderr, one waits for the process;
// every question of the server is answered on a goroutine of its own. Close returns when all of them have ended.
//
// It refuses to be clever: nothing is retried, repaired or sent unasked, and no typed protocol library stands between a test
// and the wire. It is test code, not a client library.
package ide
