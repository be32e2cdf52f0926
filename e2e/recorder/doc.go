// Command recorder is a child server for the end-to-end tests: it writes every line that reaches it into a file, so that a
// test can prove what a hub let through and, above all, what it did not.
//
// It speaks raw JSON-RPC with the standard library alone: what it sends and keeps is exactly what stands in its source,
// never what a protocol library made of it. Beside honest tools it has dishonest ones (a broken line, bytes that are not
// UTF-8, two ids in one envelope) and switches for every bad habit a child process can have: slow to start, deaf to
// SIGTERM, a grandchild left behind, noise on stdout, a flood on stderr.
//
// Flags choose the habits; the environment says the place of the files, so that a test can leave the argument list to the
// hub: RECORDER_FILE gets every line received, RECORDER_STATE one JSON object per start (process id, arguments, working
// directory, environment) and RECORDER_WRAP, a JSON array, names a real server to stand in front of: then every line goes
// on to it unchanged, and the recorder's own arguments follow those of the wrapped command.
//
// Concurrency: one goroutine reads; every tools/call runs on a goroutine of its own; one lock orders the output, one guards
// the calls under way.
//
// It refuses nothing and checks nothing: it is the witness and sometimes the villain, never the guard.
package main
