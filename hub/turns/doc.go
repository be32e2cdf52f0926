// Package turns bounds how many requests each server has at a time, how many wait for that, and how many begin in a period.
//
// [Limits] are what hub.json sets for one server: a [Bound] of all its requests, and bounds of the ones whose name fits a
// pattern. A [ServerQueue] holds the requests of one server. A request that may not begin yet waits in it ([ServerTurn.AwaitBegin]), and one
// that no bound has room for is refused ([ExceededError]).
//
// # Order
//
// A turn that ends goes to the principal that has the fewest, of several to the one that has been served least recently, and of its
// sessions to one by the same rule. A session without a principal stands for itself. So a principal that sends many requests, in however
// many sessions, delays another one by one turn at most. The requests of one session keep their order, unless a bound of some of them has
// no room: then the others go first. A request whose bounds have room never waits. A queue that is full refuses a session that has
// requests already, and no other one.
//
// # Who owns the state
//
// A [Table] has the queues of a hub by server. It finds a queue without a lock, and a hub without limits has none. A ServerQueue has one
// leaf mutex. A ServerTurn belongs to the goroutine that makes the request.
//
// # What it refuses to do
//
// It starts no goroutine and sets no timer: a turn begins because another one ends, or because [Table.Set] makes room. It knows no
// client and no server but by their names, judges nothing and sends nothing.
package turns
