// Package pin compares what servers define with what a person has accepted: hub.lock.
//
// A [Lock] is the file: for each server its package and whole definitions, as they were when `mcphub lock` wrote it. [Of] makes the
// entry of a server from an offer, [Compare] returns the differences between two entries, and [Pins] answers the one question of a
// running hub: which definitions of an offer are withheld, and why.
//
// A difference either grows or only reads differently. It grows if it gives the server more authority, or tells a model what to do:
// a new argument for a path, a URL or a command, an argument that accepts more, a hint that promises more, a new tool that has one
// of these or does not only read, characters that no one sees or takes for others, and wording that is addressed to a model. Another
// number as the bound of an argument that names none of these only reads differently: honest servers raise such bounds often, and it
// gives no authority. Tools and arguments that have another name and are else the same are taken for renamed.
//
// Concurrency: a Lock and a Pins never change, and any goroutine may use them.
//
// The package refuses to compare what is no JSON object without members that stand twice: such a definition grows. It writes no file
// and asks no one: the caller of [NewPins] gives the function that asks. A Lock holds no path of the home folder and nothing that looks
// like a secret.
package pin
