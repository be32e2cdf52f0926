// Package admin lets the command line look at hubs that run: HTTP over a Unix
// socket of the hub's own user, one socket for each hub, since an editor starts
// one hub for each window.
//
//	GET  /status         a [Report], JSON
//	POST /reload         reads hub.json again; ?force=true also where it lies inside
//	                     a boundary. {"ok":true}, or {"error":"why not"} with status
//	                     422; 501 where this hub cannot reload
//	POST /restart        ?server=: starts a server anew. {"processes":1}, or an error
//	POST /plan           ?file=: a [Plan], what a reload would do if hub.json read as
//	                     that file does; without it as it reads now
//
// On Linux these three are refused to a process that descends from the hub.
//
//	GET  /approvals        the questions that wait for a terminal
//	POST /approvals/code   ?id=: a code for one of them
//	POST /approvals/answer {"id","code","decision"}; to allow takes the code
//
// The last three are for mcphub approve. On Linux they are refused to a process
// without a controlling terminal, and to one that descends from the hub or, over
// stdio, from the hub's client.
//
// # Where the socket is
//
// [Folders] lists the folders in which sockets may lie: mcphub in
// $XDG_RUNTIME_DIR, else mcphub/run in the state folder, else mcphub-UID in the
// temporary folder; on Windows mcphub\run below %LOCALAPPDATA%. A hub takes the
// first that it can have for itself, whoever looks for hubs looks in all of
// them. A folder whose sockets would have a path longer than the system can
// bind is passed over. The socket is called PID-RANDOM.sock: the same process
// id may run in two containers that share a folder.
//
// # Who may speak
//
// The folder is the user's own, mode 0700, and no link; the socket has mode
// 0600. Beyond that, on Linux and macOS, both sides ask the kernel whose process
// is at the other end, and end the connection where it is another user's. A
// folder that fails the test is not used, and a hub without a socket goes on
// without one.
//
// That keeps other users out, not the children of the hub, nor any program
// that the same user runs: they could open the socket by themselves, as they
// could trace the hub, send it SIGHUP or edit hub.json. What there is to have is
// what [Report] says, no secret among it but what stands in a child's arguments
// or stderr. The hub's own calls cannot be pointed
// at the folder: it is protected whatever the policy says (see internal/setup).
//
// # Concurrency
//
// [New] starts nothing. [Server.Run] serves until its context ends and returns
// when the socket is gone and everything it started has ended. Requests are
// bounded in header, body and time. The functions of a [Config] are called by
// several goroutines at a time.
//
// # What it refuses to do
//
// It listens on no network address, shows no value of a variable, decides
// nothing about calls, and changes nothing but through Config.Reload and
// Config.Restart.
package admin
