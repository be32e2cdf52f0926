// Package chars knows what characters mean to the programs that read a path: which are trimmed off a value, which
// separate words and components, how an escape is decoded, which letters are the same in another case.
//
// Everything here is a function of its arguments; nothing looks at the machine.
package chars
