// Command witness is the server behind the hub in the tests of package windows. It offers tools with the keys that real servers have. It
// appends each call that it receives to the file that WITNESS_FILE names, and opens nothing.
//
// Its first argument gives it one bad habit: hang answers no call, and outlives the end of its input; spawn starts a process that never ends
// by itself.
//
// After look it prints what kind of file each path is, and ends.
//
// The record has one writer: the goroutine that reads the input.
package main
