// Package shell reads a shell string into words, and tells what a program makes of each.
//
// [Read] forms words by the grammar of bash (mvdan.cc/sh/v3/syntax) and gives a list of [Item]: the text of a word, every
// other text it may come to, what it is to the program it is given to ([Use]), whether it is run or written to, and where
// cd went before it ([Course]). What the grammar refuses is split at blanks and quotes, and read by the strictest reading.
// An upper bound of the stack that the parser may take is counted first.
//
// What programs make of their words is data: programs.txt. A word that it says nothing about is a path. It is believed
// only where the command is what its name says, no option in it is unknown, and nothing in the string runs or reads what
// it prints. [UsageOf] reads an array of words by the same table.
//
// The files pattern.go and variables.go hold what a shell, and a glob library, makes of braces, classes and variables.
//
// Nothing here looks at the disk or at a variable's value: whether a word leads outside is for others to find out. What is
// read is paid for out of the call's budget. It refuses to guess: what cannot be read to its end is a fault.
package shell
