// Package archtest holds the structure of the program as tests: which package may
// import which, and that every package has its doc.go. It has no code of its own
// and is imported by no one.
//
// Concurrency: none. It refuses nothing at run time; it fails the build.
package archtest
