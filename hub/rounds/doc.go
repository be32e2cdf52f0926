// Package rounds sees a request through with a child of the era without a handshake, which
// asks for what it needs by its result (2026-07-28, basic/patterns/mrtr): the request is
// sent again with the answers, as often as it takes. It reads what the child asks for, has
// the client asked, and puts together what is sent next.
//
// A client of the handshake's era is asked while its request waits. One of the child's own
// era gets what is asked as its answer, and brings the answers with another request.
//
// # Who owns the state
//
// [Run] holds all there is, for as long as it runs. It belongs to one goroutine, and starts
// one for each question to a client of the handshake's era.
//
// # What it refuses to do
//
// It judges nothing: [RepeatedRequest.Revalidate] does, before each round. It passes on no question that
// the client did not say it can answer, and no more rounds, questions and bytes than its
// bounds say.
package rounds
