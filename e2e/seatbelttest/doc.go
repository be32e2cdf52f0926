// Package seatbelttest has a model of Seatbelt for tests: its language, and what system calls ask of it on a disk of macOS.
//
// [Parse] reads a profile, [Profile.Allows] decides on one [Request], and [Machine.Allows] on a [Call], which asks several
// questions. No Mac is needed. What the model says is not proved by that: testdata/cases.json of package seatbelt has
// cases that a Mac plays, and compares.
//
// # What is known, and what is assumed
//
// Known from public sources (profiles of macOS and of Chromium, papers on the format): the names of operations; that a name
// with a star stands for the ones that begin so; the filters; that a string has at most 1,023 bytes; that what no rule
// matches is decided by default; that the kernel judges a path without links.
//
// Assumed: which of several matching rules decides. It is not the last one alone: profiles that deny file-write-unlink
// before they allow file-write* still deny it. The model has two orders. In [SpecificWins] the rules that name an operation
// most exactly come first, and of these the last one decides. In [LastWins] the last one decides. A profile is
// sound if it means the same in both. Assumed is also which operations a system call asks for (see [Machine.Allows]). The
// stricter of two possible readings is taken.
//
// The package applies no profile and opens no file. Its values belong to one goroutine.
package seatbelttest
