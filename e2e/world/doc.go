// Package world is what the packages of end-to-end tests share: the programs, built once, and for each test a piece of disk with a
// home, a project and places outside of it.
//
// Main builds the binary (with the race detector when the tests have it), the recorder, the fixture and the opener, and brings in the
// npm packages that e2e/package.json pins; without Node the tests that need it are skipped, loudly, and with CI=true they fail
// instead. New gives a World; a World starts hubs and children, and a Session is a fake editor at one of them. Witnesses between
// the two hold what is said against the specification (e2e/spectest).
//
// Concurrency: the name of a World's home is what every process of a test carries in its environment, and by which what is left over
// is found, so tests may run at the same time in any number of processes. What those share, the programs in e2e/.programs and the npm
// packages, is made under file locks. A World and a Session belong to one test.
//
// It refuses to know the hub: no package of it is imported but the ones that say where its files lie.
package world
