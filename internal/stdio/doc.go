// Package stdio holds what this process was given by the one who started it:
// standard input and output, and the terminal that they may be. All that
// differs between the systems there is here.
//
// [Console] is for questions that a person has to answer. It refuses any
// terminal but the one in whose foreground this process runs, and on Windows
// it is not there.
//
// Concurrency: functions without state. Nothing is started.
package stdio
