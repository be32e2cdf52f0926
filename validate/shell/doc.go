// Package shell reads a shell string into words, and reports what a program makes of each.
//
// [Read] splits the string by the grammar of bash (mvdan.cc/sh/v3/syntax) into [Item] values. An Item has the text of a word,
// every other text that it may become, what the program uses it for ([Use]), whether it is run or written to, and where cd
// went before it ([Course]). A string that the grammar refuses is split at blanks and quotes, and each word gets the
// strictest reading. The stack that the parser may need is bounded before it runs.
//
// [ReadWindows] reads the string as cmd and as PowerShell do, by grammars of its own that fail at nothing, and returns the same kind of items.
//
// What programs make of their words is a table: programs.txt, and programs_windows.txt for the commands of the shells of
// Windows. A word that the table does not know is a path. The table is believed only if the command is certain to be what its name says, every option in it is known, and nothing in the string
// runs or reads its output. [UsageOf] reads an array of words by the same table.
//
// The files pattern.go and variables.go report what a shell, and a glob library, makes of braces, classes and variables.
//
// Nothing here looks at the disk, or at the value of a variable that the string does not set. The call's budget pays for what
// is read. The package does not guess: a string that cannot be read to its end is a fault.
package shell
