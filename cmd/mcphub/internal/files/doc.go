// Package files is the embedded child: a small filesystem MCP server.
//
// Its tools carry the names and argument names of the official filesystem
// server, so that what is known about one holds for the other. It asks its
// client for roots and takes the answer for its boundary.
//
// # The boundary
//
// The allowed directories come from the command line until the client has
// answered roots/list; then its roots replace them, an empty list too, which
// leaves nothing (the official server keeps what it had). A failed answer keeps
// what was there before. A call waits, bounded, for every answer that was due
// when it arrived, so no call is judged by directories that were already
// withdrawn.
//
// Every file is opened, made, renamed and looked at through an [os.Root]. The
// path is resolved first, component by component, because os.Root refuses every
// absolute link, an honest one too; but that walk only finds out what to open.
// The operation itself walks again inside the os.Root, so a link that is swapped
// in between leads nowhere outside.
//
// What this cannot promise: bind mounts and other mounts below an allowed
// directory are followed, and a hard link is the file itself. An allowed directory
// is opened by its resolved path; the one who may rename the parents of an allowed
// directory decides what stands there. (A directory inside another allowed one is
// reached through the outer one, so that no one confined to the boundary is in
// that position.) A move or a write replaces what another process puts in its way
// in the same moment.
//
// # Concurrency
//
// [New] starts nothing. [Server.Serve] owns one client until it returns, over a
// [mcphub/internal/jsonrpc.Conn]. One goroutine asks for roots and is the only one
// that changes the boundary; the read loop never waits, so an answer can always
// come in. Calls run side by side, up to a limit; the ones that change files run
// one after the other.
//
// # What it refuses to do
//
// It speaks the handshake versions of the protocol only and answers
// server/discover with "method not found", so a modern client falls back. It has
// no tool that makes links, deletes, or changes modes. It reads no devices, pipes
// or sockets, and follows no link while it lists or searches.
package files
