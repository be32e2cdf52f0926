package servedroots

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
)

// quiet is a child that is told and says nothing by itself.
type quiet struct{ told chan string }

func (q quiet) Run(context.Context) error   { return nil }
func (q quiet) Facts() link.ConnectionFacts { return link.ConnectionFacts{} }
func (q quiet) Notify(_ context.Context, method string, _ ...[]byte) error {
	q.told <- method
	return nil
}

func (q quiet) Call(context.Context, string, ...[]byte) (*jsonrpc.Response, error) {
	return nil, jsonrpc.ErrClosed
}

// following plays the events of one run that serves roots/list, and has asked for the
// ones of generation 1.
func following(t *testing.T, rewritten bool, play func(t *testing.T, r *Roots, want func(what string, got, wanted Step), told func() int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		child := quiet{told: make(chan string, 9)}
		r := NewRoots(wanted(1), rewritten, func() link.ChildConnection { return child }, zerolog.Nop())
		r.NoteGiven(1)
		<-r.Written()
		play(t, r, func(what string, got, wanted Step) {
			t.Helper()
			if got != wanted {
				t.Errorf("%s: %+v, want %+v", what, got, wanted)
			}
		}, func() int {
			synctest.Wait()
			n := len(child.told)
			for range n {
				<-child.told
			}
			return n
		})
		r.Stop()
	})
}

func wanted(gen uint64) WantedRoots {
	return WantedRoots{Roots: []guard.Root{{URI: "file:///r", Path: "/r", Name: string(rune('0' + gen))}}, Gen: gen, Known: true}
}

var list = Change{List: true, SameLaunch: true, SameArgs: true}

func TestAChangeIsToldAndApplied(t *testing.T) {
	t.Parallel()
	following(t, false, func(t *testing.T, r *Roots, want func(string, Step, Step), told func() int) {
		if r.IsDue(wanted(1), 1) || !r.IsDue(wanted(2), 1) {
			t.Error("a change is due, and nothing else is")
		}
		want("changed", r.Review(wanted(2), list), Step{News: Announced})
		if n := told(); n != 1 {
			t.Errorf("told %d times", n)
		}
		want("changed again", r.Review(wanted(3), list), Step{})
		if n := told(); n != 0 {
			t.Error("told of a second change before it has applied the first")
		}
		r.NoteGiven(2)
		<-r.Written()
		want("asked", r.OnAsked(wanted(3)), Step{News: Applied, Gen: 2, Again: true})
		want("looked again", r.Review(wanted(3), list), Step{News: Announced})
		r.NoteGiven(3)
		<-r.Written()
		want("asked again", r.OnAsked(wanted(3)), Step{News: Applied, Gen: 3})
	})
}

func TestAChildThatDoesNotAskAgainIsNotWaitedForTwice(t *testing.T) {
	t.Parallel()
	following(t, false, func(t *testing.T, r *Roots, want func(string, Step, Step), told func() int) {
		want("changed", r.Review(wanted(2), list), Step{News: Announced})
		<-r.Overdue() // of the bubble's time
		want("late", r.OnOverdue(), Step{News: Ignored, Gen: 2})
		want("changed again", r.Review(wanted(3), list), Step{News: Ignored, Gen: 3})
		if n := told(); n != 2 {
			t.Errorf("told %d times", n)
		}
		r.NoteGiven(3)
		<-r.Written()
		want("asked", r.OnAsked(wanted(3)), Step{News: Applied, Gen: 3})
		want("changed, and it is waited for", r.Review(wanted(4), list), Step{News: Announced})
	})
}

func TestAChildWithRootsInItsArgumentsIsReplacedWhenLate(t *testing.T) {
	t.Parallel()
	following(t, true, func(t *testing.T, r *Roots, want func(string, Step, Step), _ func() int) {
		want("changed", r.Review(wanted(2), list), Step{News: Announced})
		if got := r.OnOverdue(); got.Replace == "" || got.News != Nothing {
			t.Errorf("late: %+v", got)
		}
	})
}

// A child that is asking just then is not told: the answer has the new roots.
func TestAChildThatAsksIsNotTold(t *testing.T) {
	t.Parallel()
	following(t, false, func(t *testing.T, r *Roots, want func(string, Step, Step), told func() int) {
		r.NoteQuestion()
		want("changed while it asks", r.Review(wanted(2), list), Step{News: Announced})
		if n := told(); n != 0 {
			t.Errorf("told %d times", n)
		}
		r.NoteAnswer(1) // read before the change
		<-r.Written()
		want("answered with the former ones", r.OnAsked(wanted(2)), Step{News: Announced})
		if n := told(); n != 1 {
			t.Errorf("told %d times", n)
		}
		r.NoteQuestion()
		r.NoteAnswer(2)
		<-r.Written()
		want("answered", r.OnAsked(wanted(2)), Step{News: Applied, Gen: 2})
	})
}

// A child that was told asks on account of that: what it asks then needs no newer roots. One that was given the new
// roots before the change was looked at is not told.
func TestWhoAsksBecauseItWasTold(t *testing.T) {
	t.Parallel()
	following(t, false, func(t *testing.T, r *Roots, want func(string, Step, Step), told func() int) {
		if r.WasTold() {
			t.Error("nothing was told yet")
		}
		r.Review(wanted(2), list)
		if told(); !r.WasTold() {
			t.Error("it was told and has not asked")
		}
		r.NoteQuestion()
		if r.NoteAnswer(2); r.WasTold() {
			t.Error("it has asked")
		}
		<-r.Written()
		r.OnAsked(wanted(2))
		r.Review(wanted(3), list)
		<-r.Overdue()
		if r.OnOverdue(); r.WasTold() {
			t.Error("it did not ask in time")
		}
		told()
		r.NoteQuestion()
		r.NoteAnswer(4)
		<-r.Written()
		want("given before it is looked at", r.Review(wanted(4), list), Step{News: Applied, Gen: 4})
		if n := told(); n != 0 || r.WasTold() {
			t.Errorf("told %d times of what it has", n)
		}
	})
}
