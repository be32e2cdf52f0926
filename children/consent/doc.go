// Package consent keeps, for all hubs of a user, what a person has accepted of files that
// decide what a hub runs, which changes of them wait for a person, and what servers may
// write.
//
// # What is accepted, and what waits
//
// An [Item] is something that may change: the text of a hub.json, the target of a link. Its ID reports what it
// is about, its Value is how it reads now. [Store.Accepted] is the Value that was accepted last. A Value that is
// another one is put to a person by [Store.Ask]: from then on it is among [Store.Questions], which status and
// doctor name and `mcphub reload` shows whole, and it counts once [Store.Accept] was called with the digest of
// what was shown. [Store.Take] accepts without a question: what no one but a person can have written.
//
// # Recorded profiles
//
// What a trial has recorded of a server and a person has confirmed is an Item, too:
// [Store.Confirm], [Store.Recorded], [Store.AskRecorded]. Its ID has the hub.json and the name of
// the entry, so that it stays if the entry changes, and a person is asked then.
//
// # Who could have written it
//
// Each hub has a [Reach]: a file that names every directory that its servers may write. A directory is in it
// before a server is given it, and stays. The file outlives the hub, also one that was killed: what it left
// behind counts until the Item was next accepted. [Store.CouldBeWritten] reports whether any of these
// directories holds a path, and [Store.WhyClosed] whether a name leads out of one by a link. What cannot be read
// counts as holding everything.
//
// # Format
//
// All lies in one folder of mode 0700, which no call may name and no confined server opens, whatever it is
// served ([Store.Closed]); files have mode 0600. On Linux it is below /var/tmp/mcphub-UID if the folder of state
// lies in the home folder, which is served; else it is in the folder of state. What that has from before is
// taken over once, if no server could have written it. Others keep more there: [Store.Folder].
//
//	accepted/HASH.json  an Item as it was accepted; HASH is that of its ID
//	asked/HASH.json     an Item that waits
//	made/HASH.jsonl     what the hub made for an entry: see [mcphub/children/sandbox.Made]
//	reach/NAME.jsonl    a [Reach]: {"dir":PATH} in each line, the first with the hub's client
//	reach/NAME.lock     locked for as long as the hub runs
//
// Of each Reach the folder of state has a copy, which counts if the other is lost, as with a container. A Reach
// that cannot be written is an error: what it would say must not be given.
//
// Concurrency: a Store keeps nothing in memory and may be used by any goroutine and any
// process. Files are replaced whole, or appended to by their only writer. Of two that
// accept at a time the later counts. A Reach may be used by any goroutine.
//
// It refuses to accept what reads differently from what was shown. It asks no one: who may answer is for
// internal/caller to say. It waits for no other process.
package consent
