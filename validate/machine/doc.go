// Package machine is this computer as one call sees it: what is on its disk, who its users are, what its environment
// says, and what a container is given of it. It answers what a text may stand for here (alternative spellings, home
// folders, variables) and whether something is there. It decides nothing.
//
// A [Machine] is immutable and may be used by any number of goroutines. A [DiskView] is a Machine for one call and belongs to
// one goroutine: each look at the disk is paid for out of the call's budget, each place is looked at once, and nothing is
// kept for the next call.
//
// Where something cannot be told, it refuses to report that nothing is there.
package machine
