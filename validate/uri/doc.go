// Package uri reads what a text says as a URI: whether its scheme carries a path of this machine, in which spellings a
// server may come to read it, and what the variables of an RFC 6570 template are in it.
//
// Its functions are pure and hold no state. Programs disagree on nearly all of this, so every reading that some program
// makes is given; which of them lie inside is not asked here. What is wrapped too often to be honest is given as a URI that
// cannot be parsed, which is denied.
package uri
