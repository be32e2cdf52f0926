// Package door lets sessions attach to a hub that runs: it is the hub's side of package attach.
//
// A [Door] listens on the socket of a [attach.Endpoint]. It takes the descriptors of an adapter
// only when it has found out who that is:
//
//   - a process of this hub's user, by the kernel (SO_PEERCRED);
//   - none that a server of any hub has started, none with a filter of system calls that this
//     hub has not, none that has given up new privileges where this hub has not, none in another
//     namespace (package caller); who cannot be told is refused;
//   - the one that has connected, and not one that was passed the connection: each message says
//     who sent it (SO_PASSCRED);
//   - one that shows the secret, which lies in a file of mode 0600 that no confined server can open.
//
// # Who owns its state
//
// [New] starts nothing. [Door.Run] accepts, has one goroutine for each adapter, and returns when all have
// ended: when its context ends, or when no one has been attached for Config.Idle.
//
// # What it refuses to do
//
// It reads no byte of a session's streams and passes none on. It touches none of the descriptors before the
// adapter has said the last word, so an adapter that has given up may serve its client otherwise. It
// waits for no adapter longer than two seconds.
package door
