// Package process runs child servers as processes that speak on stdin and stdout.
//
// [Start] starts what a [launch.Launch] says and returns a [link.ChildConnection]. [RunNpmShell] is the script shell of npx on Windows. One goroutine
// waits for a process. On Linux another one keeps the thread that forked, because the
// child dies with that thread. The last words on stderr are kept as plain
// text, bounded, and copied to the log at a bounded rate.
//
// # What ends with a child
//
// Everybody who descends from it, on Linux as on Windows, also those who left
// its process group, lost their parent or ignore TERM. On Linux that needs a
// program that calls [AdoptOrphans] and has no other children; who belongs to
// which child is told by the process tree, by MCPHUB_INSTANCE in the
// environment, and where both are gone by age: an orphan that nothing tells
// apart ends with the last child that is older.
//
// What it cannot promise: on macOS and the BSDs the one who leaves the process group outlives the stop ladder, unless it heeds the end of
// its stdin. A kill -9 of the hub reaches each child itself on Linux and Windows; what the child has started is ended on Windows, and on
// Linux by the guardian that the program has above it. Nowhere is reached what someone else has started on a child's behalf, or what has
// become another user's.
//
// The package chooses no program and no environment, restarts nothing, and knows nothing about MCP beyond frames.
package process
