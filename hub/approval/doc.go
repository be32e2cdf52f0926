// Package approval asks a person about a request that a rule of the policy
// escalates, and keeps what they have allowed.
//
// A [Queue] is what a person is asked, and has allowed, in one session. Its
// method Ask takes a [Request] and how it was judged. It makes one question of
// all that the request names, waits for its turn, has an [Asker] put the
// question, keeps the grants of a yes, and has the [RequestOwner] judge the request
// again, with an [Approval]. Equal questions are asked once.
//
// How a person is reached is not known here, but for the [Terminal]: it holds the
// questions that wait for someone at a terminal of the hub's user.
//
// # What a yes is good for
//
// An [Approval] is bound to the digest of one request, good once and for a short
// time. It lifts a rule about the request itself for that request alone. What the
// person has opened besides is kept as grants: of exactly the files or directories
// that the question named, for one child of one session, and in a queue of
// [Queue.SetPerCall] for that call only. A grant ends when its child is run in
// another way, or when the policy in force would ask no one about it.
//
// # Concurrency
//
// New starts nothing, and nothing here runs by itself: a question is put on the
// goroutine of the first request that asks it. A Queue and a Terminal
// have one leaf mutex each. Questions, offers and grants are immutable.
//
// # What it refuses to do
//
// The zero Answer, the zero Approval and an unknown choice allow nothing. Nothing
// that a model or a server can send makes an Approval; only an Asker's answer does.
// A question that a person cannot read whole is not asked. No one is asked about a
// child that several sessions share, again and again after several noes, or where an
// answer could change nothing. It judges nothing itself, knows no call, session or
// era, and writes no record: it tells the RequestOwner what to write.
package approval
