// Package lines reads and writes the lines of one peer: a [Reader] cuts what the peer sends into lines, a [Writer] writes
// frames to it, a [Batch] gathers small frames so that they leave in one write.
//
// Large lines are not copied. The Reader hands them over with their [Buffer], the Writer writes them from where they are.
//
// # Concurrency
//
// A Reader belongs to one goroutine, and so does a Batch. A Writer may be used by any goroutine: frames leave whole, in the
// order of Send, and every Send honours its context. It starts no goroutine before the peer takes no more.
//
// The one who sends a frame may get the write turn, and is the only one who writes until it ends; what comes meanwhile
// is queued behind. If the peer takes no more, the write turn goes to a goroutine, which ends when nothing is left:
//
//	idle -> a sender writes its frame, or the queue -> idle
//	                    |                               ^
//	                    +-> a goroutine writes the queue +
//
// [Writer.Close] or an error of the peer drops the queue at any time; the write turn ends as it would.
//
// # What it refuses to do
//
// It knows nothing about what a line holds, except a line over the limit it keeps the ids that package broken finds. It
// retries nothing.
package lines
