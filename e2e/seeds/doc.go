// Package seeds owns the randomness of tests: each random test draws by one seed, and repeats when it is run with that seed.
//
// It is for tests: no program imports it. The variable MCPHUB_SEED names the seed of a process: a number, or "random" for a new
// one. Without it the seed is a constant, so that what is tested today is tested tomorrow. Each test mixes its own name into that
// seed, so that two tests draw different cases and one test draws the same ones, whatever else runs. A test that has drawn and fails
// prints a line that repeats it.
//
// MCPHUB_LONG_CASES says how many cases a random test tries, instead of the few that it tries by itself; Cases reads it. With the
// race detector a test tries a quarter of its few, since it has tried all of them without.
//
// State: what rapid is told stands in flags of the process. A mutex owns them, and Check holds it only until rapid has read them:
// so tests that run beside each other have their own seeds and numbers of cases.
//
// It refuses to seed from the clock, and to go on with a variable that it cannot read. rapid writes no files of failures: a file
// that a single clone has and another has not would make their runs differ.
package seeds
