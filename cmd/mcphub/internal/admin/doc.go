// Package admin lets the command line reach hubs that run: HTTP over a Unix socket of the
// hub's own user. Each hub has a socket, because an editor starts a hub for each window.
//
//	GET  /status           a [Report], JSON
//	POST /reload           reads hub.json again, as far as a person has accepted it.
//	                       {"ok":true}, or {"error":"why not"} with status 422
//	POST /restart          ?server=: starts a server again, and answers when it has
//	POST /sessions/end     ?id= or ?principal=: ends sessions over HTTP, and answers with
//	                       the sessions that it has found
//	POST /plan             ?file=: a [Plan], what a reload would do if hub.json read as
//	                       that file does; without it, as it reads now
//	GET  /approvals        the questions that wait for a person
//	POST /approvals/code   ?id=: a code for one of them, for a terminal
//	POST /approvals/answer an [approval.PendingAnswer]: {"id","digest","from","code","decision"}
//
// On Linux all is refused to whom a server of any hub has started (internal/caller). Codes
// and answers are also refused to one that is not in the foreground of a terminal and, over
// stdio, to one that descends from the hub's client. Those may look at the questions, which
// have no ids for them. The digest of an answer is the digest of the question as it was
// shown.
//
// # Where the socket is
//
// In the first folder of rundir.Sockets that can be used. The command line looks in all of
// them. The socket is called PID-RANDOM.sock,
// because two containers that share a folder may use the same process id.
//
// # Who may connect
//
// The folder has mode 0700 and is no link; the socket has mode 0600. On Linux and macOS both
// sides also ask the kernel for the user at the other end, and close the connection if it
// is another one. A hub without a usable folder goes on without a socket.
//
// This keeps out other users. It does not keep out programs of the same user, such as the
// hub's children: they could also trace the hub or edit hub.json. A [Report] holds no secret
// except in a child's arguments or stderr. Calls through the hub cannot name the folder,
// because it is protected.
//
// # Who owns its state
//
// [New] starts nothing. [Server.Run] serves until its context ends, and returns when the
// socket is gone and everything it started has ended. Requests are bounded in header, body
// and time. The functions of a [Config] are called by several goroutines at a time.
//
// # What it refuses to do
//
// It listens on no network address, shows no value of a variable, decides nothing about
// calls, and changes nothing except by Config.Reload, by Config.Restart, by Config.EndSessions and by
// answers to approvals.
package admin
