// Package recordtest writes records of decisions of any size and with any times, as a hub would have written them, for
// the tests of those that read records. [Write] makes the folder: one log of several files, and its chain.jsonl. No hub
// takes part, so a million lines take seconds, and their times are those that the test gives.
//
// Nothing here starts a goroutine.
package recordtest
