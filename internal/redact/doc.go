// Package redact leaves out of texts what looks like a secret.
//
// [Text] knows the forms of secrets, [SecretKey] the names of what holds one. [JSON]
// applies both to a JSON value, and [Args] to the arguments of a program. [URL] leaves out
// the parts of an address that hold one.
//
// The package has no state and may be used from any goroutine. It is a net of names and
// forms, and no promise: a secret of another form passes. What it cannot read it leaves
// out altogether.
package redact
