// Package caller tells who calls: the one test of the one who wants to look at a hub, to administer it, or to change what it runs.
//
// [Peer] asks it of the process at the other end of a [Conn], a unix socket or a named pipe of Windows, [Self] of this one, and
// [Hub] of the one that listens there in the name of a hub. On Linux all refuse
//
//   - who descends from a hub, of whatever version of hub.json, or from its guardian: a
//     server, and all that servers start, also after setsid, a double fork, without its
//     environment, or when its hub was killed. Hubs and guardians are known by the name
//     that they give themselves (proctree.Rename), which only they can change and which
//     everybody can read. The guardian of the caller itself does not count;
//   - who bears the mark of a server in its environment, or has an ancestor that does;
//   - who bears the mark that a server cannot lose (proctree.Mark), also when hub and guardian were
//     killed and it descends from neither any more. A hub is looked at by its guardian, which
//     has none. The one who may set limits as it likes (root) can take it away;
//   - who has more seccomp filters than the hub, which every confined server has and
//     no one loses. For Self it is the first process of the system that counts;
//   - who cannot be looked at: another pid namespace, an ancestry that /proc hides, a
//     process that has ended.
//
// A [Want] asks more: a person at a terminal; or a process that no client of a hub has started, or
// that is held by no more than the hub itself.
//
// A process id may be given to someone else while it is looked at. So the process is held by a descriptor that the socket gives
// (SO_PEERPIDFD, Linux 6.5), else by the time of its start, and its ancestry is read until two readings are the same.
//
// On Windows a process is refused that is in the job object of the servers of any hub (proctree.IsServer), as is what a server starts,
// also when all above it have ended; and a process that cannot be looked at, or has ended. On macOS a process is refused that this
// process, or another of the same name, has started, while all between them run: it is known no more when it has left its parents. On both
// a client in [Want] is found in the same way, and no caller of Peer counts as a person.
//
// On other systems no caller is refused.
//
// Concurrency: everything may be called from any goroutine; nothing is kept. The package refuses and admits; it answers no one, and does
// not tell users apart, which is for who listens.
package caller

// Want is what a caller must be beyond no server.
type Want struct {
	// Person: it has a terminal and is in its foreground.
	Person  bool
	Clients []Process // that may not have started it
	// Unknown: no one can tell who the client is, so no caller counts as a person.
	Unknown bool
	// Alike: it is in the namespaces of the hub, and has not given up new privileges if
	// the hub has not, and has its user, groups and capabilities, and its root folder.
	Alike bool

	hub bool // it has the name of a hub, or the guardian of one
}

// A Process is identified by its id and its start time: in clock ticks since boot, on Windows in 100 ns
// since 1601, on macOS in microseconds since 1970. Start 0 means
// that the id alone counts.
type Process struct {
	PID   int
	Start uint64
}
