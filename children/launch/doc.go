// Package launch computes how the process of a child server starts: program,
// arguments, environment and working directory, from a [program.Program] (what
// hub.json says), the roots, and a [Machine].
//
// [Plan] returns a [Launch], a value; equal Launches start the same thing. It starts
// nothing itself. All it writes is the empty folder in which launchers such as npx
// start, and a script beside it, made when one first needs them ([Machine.WithShelter]). What the
// kernel opens to the child is decided by children/confinement.
//
// The package passes no variable of the hub's environment on that is not listed. It takes no program out of a working directory that may
// be another user's clone, nor out of a folder of PATH inside a root, unless the Program is Local. It gives no batch file an argument
// that cmd.exe would read (batch.go), and starts without cmd.exe what a batch file of npm runs. It looks up no secret: marks of
// references (internal/reference) stay in a Launch, and [Machine.WithSecrets] replaces them in a copy.
package launch
