// Package program reads what an entry of hub.json says about the process to start: its
// command line and its environment.
//
// A [Program] is that entry. Package commandline reads its command line. [Program.Package] returns the package that its
// launcher fetches, and [Program.Names] the paths that the entry names.
//
// Roots stand in arguments and variables for ${roots}, ${root} and ${root:NAME}
// ([Expander]), and take the place of the directories in the arguments of filesystem-like
// servers ([Program.RewrittenArgs]).
//
// The working directory may be another user's clone. [Program.Precautions] reports how the
// launcher starts so that it takes no program out of it. [Program.ProjectWarning] says about what
// that cannot be told.
//
// The package knows no [Environment] but the one it is given. It looks for no file, with
// one exception: of a command that is named like a filesystem server it follows the links,
// to see whose package it lies in. It has no state, and its functions may be called by
// any goroutine.
package program
