// Package uri reads a text as a URI: whether its scheme carries a path of this machine, how servers may read that path,
// and what the variables of an RFC 6570 template are in it.
//
// Its functions hold no state and look at nothing but the names and addresses of this machine. Programs disagree on nearly all of this, so every reading of some program is
// returned. Whether a reading lies inside is not decided here. A text that is escaped too many times is returned as a URI
// that cannot be parsed, and so denied.
package uri
