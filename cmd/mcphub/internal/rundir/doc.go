// Package rundir describes where the hubs of a user meet: the folder of state, and the folders that sockets
// lie in, from the environment alone.
//
// [Sockets] lists the folders: mcphub in $XDG_RUNTIME_DIR, mcphub/run in the state folder,
// mcphub-UID in the temporary folder; on Windows mcphub\run below %LOCALAPPDATA%. A hub
// takes the first that belongs to its user alone and whose paths are short enough for a
// socket. Who looks for hubs looks in all of them.
//
// [Substitute] moves state and cache into mcphub-UID of the temporary folder if the home folder takes neither.
//
// Concurrency: it keeps nothing. It refuses to use a folder that is a link, belongs to someone else, or that
// others may look into.
package rundir
