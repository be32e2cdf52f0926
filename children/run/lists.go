package run

import (
	"context"
	"sync/atomic"
	"time"

	"mcphub/children/offers"
	"mcphub/internal/worker"
)

const (
	// relistPause is the least time between two lists: a child that announces
	// changes without end is listed ten times a second, not more.
	relistPause = 100 * time.Millisecond
	// leastFresh is the least time between two reads of lists that have a time to live
	// and are not announced.
	leastFresh = time.Minute
	// firstRelist is the pause before a list that could not be read is asked for again; it
	// doubles up to lastRelist.
	firstRelist = 250 * time.Millisecond
	lastRelist  = 5 * time.Minute
)

// relistAll has every list read again.
func (r *Run) relistAll() {
	r.stale.Or(uint32(offers.AllLists))
	worker.Signal(r.relist)
}

// SessionRenewed is called when the server has forgotten the session of this run, and
// a new one was started. The server has also forgotten what it was told in the old
// one, and may be a newer program.
func (r *Run) SessionRenewed() {
	r.stale.sessions.Add(1)
	r.relistAll()
}

// Offers delivers what the child offers after its lists were read again; of several the
// latest.
func (r *Run) Offers() <-chan *offers.Offer { return r.offers }

// Renewed counts the sessions that were started in the place of forgotten ones.
func (r *Run) Renewed() uint64 { return r.stale.sessions.Load() }

// staleLists are the lists that have changed since they were asked for, as
// [offers.Lists].
type staleLists struct {
	atomic.Uint32
	sessions atomic.Uint64 // started in the place of forgotten ones
}

// note takes in a notification, and tells whether it is about a list.
func (s *staleLists) note(method string) (is bool) {
	which := offers.Changed(method)
	s.Or(uint32(which))
	return which != 0
}

// Follow reads a list again each time the child says that it has changed, and one that
// could not be read after a while, until ctx ends. base is what it offered first. New offers come by Offers.
func (r *Run) Follow(ctx context.Context, base *offers.Offer) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var sessions uint64
	read := time.Now() // when the lists were, of whose changes nothing tells
	failed, wait := base.Failed(), firstRelist
	again := time.Now().Add(wait) // of what failed
	for {
		which, fresh := offers.Unannounced(base)
		select {
		case <-ctx.Done():
			return
		case <-outlived(base.Fresh > 0 && !offers.Tools.List().Announced(base.Capabilities), base.Fresh, time.Now()):
			r.stale.Or(uint32(offers.AllLists))
		case <-outlived(which != 0, fresh, read):
			r.stale.Or(uint32(which))
		case <-at(failed != 0, again):
			r.stale.Or(uint32(failed))
		case <-r.relist:
		}
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if now := r.stale.sessions.Load(); now != sessions {
			sessions = now
			r.level.tellAgain(ctx, r.Link(), base)
		}
		asked := offers.Lists(r.stale.Swap(0)) | failed
		bounded, end := context.WithTimeout(ctx, r.spec.StartTimeout)
		o, err := offers.Read(bounded, r.Link(), base, asked)
		end()
		if asked&which != 0 {
			read = time.Now()
		}
		pause.Reset(relistPause)
		if err != nil || o.Failed() != 0 {
			wait = min(2*wait, lastRelist)
			again = time.Now().Add(wait)
		} else {
			wait = firstRelist
		}
		if err != nil {
			failed |= asked
			if ctx.Err() == nil {
				r.log.Warn().Err(err).Msg("a list could not be read; the former one stands, and it is asked for again")
			}
			continue
		}
		failed = o.Failed()
		for _, note := range o.Notes {
			r.log.Warn().Msg(note)
		}
		if failed != 0 {
			r.log.Warn().Msg("a list could not be read; the former one stands, and it is asked for again")
		}
		same := failed != 0 && o.Equal(base)
		base = o
		if same {
			continue
		}
		select {
		case <-r.offers: // a newer one takes its place
		default:
		}
		r.offers <- o
	}
}

// at returns a channel that delivers at a time; nil, which never does, unless due.
func at(due bool, when time.Time) <-chan time.Time {
	if !due {
		return nil
	}
	return time.After(time.Until(when))
}

// outlived returns a channel that delivers when the time to live is over that the child gave its lists, but after
// leastFresh at the earliest. It is nil, and never delivers, if ends is false.
func outlived(ends bool, fresh time.Duration, read time.Time) <-chan time.Time {
	if !ends {
		return nil
	}
	return at(true, read.Add(max(fresh, leastFresh)))
}
