// Package inflight keeps the requests of clients that are with a child: which of
// them a child's words belong to, what children ask their client meanwhile, and
// how progress finds its way in both directions.
//
// # Ownership
//
// [OpenRequests] belong to one session, [Progress] to a hub. Each has one leaf mutex,
// and its methods may be called from any goroutine. A [OpenRequest] is entered by the
// one who sends it and taken out by the one who takes in its answer. A question
// of a child stays open after its request was answered. It ends when the request
// is cancelled or fails.
//
// # What it refuses to do
//
// It sends nothing by itself and judges nothing. No more than 128 questions are
// open in one session, and 64 of one child. A token of another instance than the
// one it was made for relays no progress.
package inflight
