package audit

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sort"
	"sync"
	"time"
)

// A GroupCommit records decisions that come at the same time: one line for the decisions of
// each session, and one write for all lines. A goroutine that calls Flush while no other goroutine
// writes is the leader. It writes, and then calls Recorded of every member, once. Other goroutines do not wait.
// A member sends its call in Recorded, so after its line was written.
//
// The fields are set before the first Add. Its methods may be called from any
// goroutine.
type GroupCommit struct {
	To *Recorder
	// InBatch, if set, is called by the leader, and calls tell once. tell calls Recorded of all members, so
	// that the calls that they send can leave in one write.
	InBatch func(tell func())
	// Panicked, if set, is called with the value of a panic of a member or of the writer. It runs in
	// the deferred call, so debug.Stack shows where the panic was.
	Panicked func(p any)

	writing written

	mu         sync.Mutex // guards what follows
	waiting    gathered
	spare      gathered
	hasLeader  bool // there is a leader
	yieldsLeft int  // how often the leader still yields to others, since some came lately
}

// A GroupMember is one decision in a GroupCommit.
type GroupMember interface {
	// Recorded is called when the line was written, or could not be. It must not
	// block. With an error there is a ticket if the line will be written with the next
	// one that can be. If Recorded panics, it is called again with ErrGroup.
	Recorded(t Ticket, err error)
}

// gathered are decisions to be recorded.
type gathered struct {
	members []GroupMember
	records []CallRecord
	buf     []byte // what the lines are made of
}

// Len, Less and Swap sort the decisions by session, because the decisions of a session share a line.
func (w *gathered) Len() int           { return len(w.members) }
func (w *gathered) Less(i, j int) bool { return w.records[i].Session < w.records[j].Session }
func (w *gathered) Swap(i, j int) {
	w.members[i], w.members[j] = w.members[j], w.members[i]
	w.records[i], w.records[j] = w.records[j], w.records[i]
}

// written belongs to the leader.
type written struct {
	all     gathered
	tickets []Ticket
	err     error
	told    int
	tell    func() // of the GroupCommit, made once
}

const (
	maxGrouped = 64 // decisions of one write
	// yields is how many times a leader that is alone yields the processor for others
	// to join, after some have joined.
	yields = 8
	// maxLed is how many times a leader writes for others that came later.
	maxLed = 4
	// maxGathered is how much room is kept for the next decisions.
	maxGathered = 64 << 10
)

// ErrGroup means that recording a decision panicked.
var ErrGroup = errors.New("internal error: recording this request made the hub panic; the log has the details")

// Add takes m in. It is recorded when someone calls Flush. The bytes that rec
// refers to, except Encoded's, may be used again when Add returns.
func (g *GroupCommit) Add(rec CallRecord, m GroupMember) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &g.waiting
	rec.Request, rec.Arguments = w.ownCopy(rec.Request), w.ownCopy(rec.Arguments)
	w.members, w.records = append(w.members, m), append(w.records, rec)
}

// ownCopy returns a copy of b that lasts until the line was written.
func (w *gathered) ownCopy(b []byte) []byte {
	if b == nil {
		return nil
	}
	at := len(w.buf)
	w.buf = append(w.buf, b...) // a larger one leaves the earlier lines where they are
	return w.buf[at:len(w.buf):len(w.buf)]
}

// Waiting returns how many wait to be recorded.
func (g *GroupCommit) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting.members)
}

// Flush has all members recorded: it leads, or leaves it to the present leader.
func (g *GroupCommit) Flush() {
	g.mu.Lock()
	if g.hasLeader {
		g.yieldsLeft = yields
		g.mu.Unlock()
		return
	}
	g.hasLeader = true
	alone := len(g.waiting.members) == 1
	yield := alone && g.yieldsLeft > 0
	g.mu.Unlock()
	if yield {
		// On a busy machine each caller would otherwise write its own line at once.
		runtime.Gosched()
		g.mu.Lock()
		if len(g.waiting.members) == 1 {
			g.yieldsLeft--
		}
		g.mu.Unlock()
	}
	if !g.leadWrites(maxLed) {
		go g.leadWrites(math.MaxInt)
	}
}

// leadWrites records the members that wait, in so many writes at most. false: there are
// more, and no other leader yet.
func (g *GroupCommit) leadWrites(most int) bool {
	for range most {
		if !g.takeMembers() {
			return true
		}
		g.writeMembers()
	}
	return false
}

// takeMembers takes the members that wait. false: there are none, and no leader any more.
func (g *GroupCommit) takeMembers() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting.members) == 0 {
		g.hasLeader = false
		return false
	}
	now := &g.writing.all
	*now, g.waiting, g.spare = g.waiting, g.spare, gathered{}
	for i := maxGrouped; i < len(now.members); i++ { // for the next write
		rec, w := now.records[i], &g.waiting
		rec.Request, rec.Arguments = w.ownCopy(rec.Request), w.ownCopy(rec.Arguments)
		w.members, w.records = append(w.members, now.members[i]), append(w.records, rec)
		now.members[i] = nil
	}
	n := min(len(now.members), maxGrouped)
	now.members, now.records = now.members[:n], now.records[:n]
	sort.Stable(now)
	return true
}

// writeMembers writes the lines and tells the members.
func (g *GroupCommit) writeMembers() {
	w := &g.writing
	if w.tell == nil {
		w.tell = g.tellMembers
	}
	w.err, w.told = ErrGroup, 0
	g.callGuarded(func() {
		w.tickets, w.err = g.To.AppendCalls(context.Background(), w.tickets[:0], w.all.records, time.Now())
	})
	if g.InBatch != nil {
		g.callGuarded(func() { g.InBatch(w.tell) })
	}
	g.tellMembers()
	g.freeWrite()
}

// tellMembers tells the members who have not been told yet.
func (g *GroupCommit) tellMembers() {
	w := &g.writing
	for w.told < len(w.all.members) {
		m, t := w.all.members[w.told], Ticket{}
		if w.told < len(w.tickets) {
			t = w.tickets[w.told]
		}
		w.told++
		if !g.callGuarded(func() { m.Recorded(t, w.err) }) {
			g.callGuarded(func() { m.Recorded(Ticket{}, ErrGroup) })
		}
	}
}

// callGuarded calls f, and reports whether it returned.
func (g *GroupCommit) callGuarded(f func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			if g.Panicked != nil {
				g.Panicked(p)
			}
		}
	}()
	f()
	return true
}

// freeWrite frees the memory of a write for the next one.
func (g *GroupCommit) freeWrite() {
	w := &g.writing
	clear(w.all.members)
	clear(w.all.records)
	clear(w.tickets)
	spare := gathered{members: w.all.members[:0], records: w.all.records[:0]}
	if cap(w.all.buf) <= maxGathered {
		spare.buf = w.all.buf[:0]
	}
	w.all = gathered{}
	g.mu.Lock()
	g.spare = spare
	g.mu.Unlock()
}
