// Package preflight tells before a server is started what its start would lack, and what the kernel would
// hold it to: for validate, doctor, allow, explain and the plan of a reload.
//
// A [Host] is a value, and the package has no state: its methods look at the disk as they are called, by any
// goroutine.
//
// # What it refuses to do
//
// It starts nothing, writes nothing and installs nothing, and leaves out what depends on the roots of a session, unless these are
// given. It decides nothing: package launch, which it asks, is the one that a start goes by.
package preflight
