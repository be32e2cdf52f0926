// Package needs is for tests that need what not every machine has.
//
// Go, Node, npm, git and coreutils are everywhere that the tests run. A test that needs another program asks for it first, before it
// starts anything. If the program is missing, the test skips and names the Debian package that has it. In CI a missing program is
// an error. The same holds for anything else that a machine may lack: Missing skips, or fails in CI.
//
// The file debian lists every program that a test may need, with its package. .ci/run installs what the list names. A program that is not
// listed is an error on every machine if a test asks for it by name. Line reads a whole line of shell: it asks for the words that are listed
// and passes over the others, so it finds no program that the list lacks.
//
// The package owns no state, and a test may call it from any goroutine that may end the test. It installs nothing.
package needs
