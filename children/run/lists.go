package run

import (
	"context"
	"errors"
	"sync"
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
	// aloneTime is how long lists may take that have changed, if the list of tools is not among them.
	aloneTime = 10 * time.Second
)

// relistAll has every list read again.
func (r *Run) relistAll() { r.outdateLists(offers.AllLists) }

// SessionRenewed is called when the server has forgotten the session of this run, and
// a new one was started. The server has also forgotten what it was told in the old
// one, and may be a newer program.
func (r *Run) SessionRenewed() {
	r.stale.sessions.Add(1)
	r.relistAll()
}

// Offers delivers what the child offers after its lists were read again; of several offers the latest. The one who takes an Update calls its MarkTaken.
func (r *Run) Offers() <-chan Update { return r.offers }

// Renewed counts the sessions that were started instead of forgotten ones.
func (r *Run) Renewed() uint64 { return r.stale.sessions.Load() }

// Follow reads a list again each time the child states that it has changed, and one that could not be read
// after a while, until ctx ends. base is what it offered first. New offers come by Offers.
func (r *Run) Follow(ctx context.Context, base *offers.RawOffer) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	r.stale.noteRead()
	var sessions uint64
	read := time.Now() // when the lists were, of whose changes nothing tells
	failed, wait := base.FailedLists(), firstRelist
	again := time.Now().Add(wait) // of what failed
	for {
		which, fresh := offers.Unannounced(base)
		select {
		case <-ctx.Done():
			return
		case <-outlivedAt(base.Fresh > 0 && !offers.Tools.List().IsAnnounced(base.Capabilities), base.Fresh, time.Now()):
			r.stale.addLists(offers.AllLists)
		case <-outlivedAt(which != 0, fresh, read):
			r.stale.addLists(which)
		case <-channelAt(failed != 0, again):
			r.stale.addLists(failed)
		case <-r.relist:
		}
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if now := r.stale.sessions.Load(); now != sessions {
			sessions = now
			r.level.tellAgain(ctx, r.Connection(), base)
		}
		now := r.stale.beginReading()
		pause.Reset(relistPause)
		if now.which == 0 { // of an earlier signal all has been read
			r.stale.endReadings(now)
			continue
		}
		o, err := r.readLists(ctx, base, now.which, failed)
		if now.which&which != 0 {
			read = time.Now()
		}
		if ctx.Err() != nil {
			r.stale.endReadings(now)
			return
		}
		pause.Reset(relistPause) // from here on
		before := failed
		if err != nil {
			failed |= now.which
		} else {
			failed = failed&^now.which | o.FailedLists()
		}
		switch {
		case failed == 0:
			wait = firstRelist
		case failed&now.which != 0:
			wait = min(2*wait, lastRelist)
			again = time.Now().Add(wait)
		}
		if err != nil {
			r.stale.endReadings(now)
			r.log.Warn().Err(err).Msg("a list could not be read; the former one stands, and it is asked for again")
			continue
		}
		for _, note := range o.Notes {
			r.log.Warn().Msg(note)
		}
		same := failed != 0 && failed == before && o.Equal(base)
		base = o
		if same {
			r.stale.endReadings(now)
			continue
		}
		r.deliverOffer(o, now)
	}
}

// readLists reads lists. What has failed before may take as long as a start, and is given up when
// there is something else to read.
func (r *Run) readLists(ctx context.Context, base *offers.RawOffer, which, failed offers.Lists) (*offers.RawOffer, error) {
	limit, isRetry := r.spec.StartTimeout, which&^failed == 0
	if !isRetry && which&(1<<offers.Tools) == 0 {
		limit = min(limit, aloneTime)
	}
	ctx, release := context.WithTimeoutCause(ctx, limit, offers.ErrTooSlow)
	defer release()
	if !isRetry {
		return offers.Read(ctx, r.Connection(), base, which)
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	var other sync.WaitGroup
	other.Go(func() {
		if r.awaitStale(ctx) {
			giveUp(errOtherLists)
		}
	})
	defer other.Wait()
	defer giveUp(nil)
	return offers.Read(ctx, r.Connection(), base, which)
}

var errOtherLists = errors.New("others were to be read meanwhile")

// awaitStale waits until lists are to be read; false: ctx has ended.
func (r *Run) awaitStale(ctx context.Context) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-r.relist:
			if r.stale.isDue() {
				worker.Signal(r.relist) // for Follow
				return true
			}
		}
	}
}

// deliverOffer delivers what was read, instead of what the instance has not taken yet.
func (r *Run) deliverOffer(o *offers.RawOffer, now *listReading) {
	u := Update{o, &r.stale, []*listReading{now}}
	select {
	case older := <-r.offers:
		u.reads = append(older.reads, now)
	default:
	}
	r.offers <- u
}

// channelAt returns a channel that delivers at a time; nil, which never does, unless isDue.
func channelAt(isDue bool, when time.Time) <-chan time.Time {
	if !isDue {
		return nil
	}
	return time.After(time.Until(when))
}

// outlivedAt returns a channel that delivers when the time to live is over that the child gave its lists, but after
// leastFresh at the earliest. It is nil, and never delivers, if isBounded is false.
func outlivedAt(isBounded bool, fresh time.Duration, read time.Time) <-chan time.Time {
	if !isBounded {
		return nil
	}
	return channelAt(true, read.Add(max(fresh, leastFresh)))
}
