// Package clients knows the programs that people use MCP servers with: where
// each keeps its configuration, in which spelling, and how the hub is
// registered there.
//
// One table ([All]) holds what is known of each client. The rest works on any
// of them: [Read] lists the servers that a client has, in the spelling of
// hub.json; a [Plan] puts the hub in and switches others off; a [Store] keeps
// what was done, so that it can be undone.
//
// # Other people's files
//
// A file is changed by the least that is needed (package edit), written beside itself
// and renamed into place, with the permissions it had. It is not written if it has
// changed since it was read. Before the first change a copy of it is kept in the
// Store, and with it a record of what was put in. Undoing gives back the copy, to the
// byte, if no one has edited the file since; otherwise it takes out what was put in
// and leaves the edits. Copies and records hold whatever secrets the files held. They
// are encrypted, and readable by their owner only.
//
// # Entries of strangers
//
// The one who wrote a file that is not hub.json may be a stranger. All its entries
// come in by one function, foreign: references to secrets become text, and what only
// hub.json may say is held back. [Merge] holds at the end that no new entry refers to
// a secret that is not its own.
//
// # Concurrency
//
// The table is constant. A Plan and a Store are used by one goroutine at a time;
// two processes that write one file at once are told apart by its content only.
//
// # What it refuses to do
//
// It starts no program, asks no one and prints nothing. No message shows the value of
// a setting: they name files, servers and keys. [Import.Shown] is for the person who
// is asked.
package clients
