package run

import (
	"context"
	"sync/atomic"
	"time"

	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/worker"
)

const (
	// relistPause is the least time between two lists: a child that announces
	// changes without end is listed ten times a second, not more.
	relistPause = 100 * time.Millisecond
	// leastFresh is the least time between two reads of lists that have a time to live
	// and are not announced.
	leastFresh = time.Minute
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

// Follow reads a list again each time the child says that it has changed, until ctx
// ends. base is what it offered first. New offers come by Offers.
func (r *Run) Follow(ctx context.Context, base *offers.Offer) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var sessions uint64
	read := time.Now() // when the lists were, of whose changes nothing tells
	for {
		old, stop := outlived(base)
		which, unannounced, stopUnannounced := outlivedUnannounced(base, read)
		select {
		case <-ctx.Done():
			stop()
			stopUnannounced()
			return
		case <-old:
			r.stale.Or(uint32(offers.AllLists))
		case <-unannounced:
			r.stale.Or(uint32(which))
		case <-r.relist:
		}
		stop()
		stopUnannounced()
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if now := r.stale.sessions.Load(); now != sessions {
			sessions = now
			r.level.tellAgain(ctx, r.Link(), base)
		}
		asked := offers.Lists(r.stale.Swap(0))
		o, notes, err := offers.Read(ctx, r.Link(), base, asked)
		if asked&which != 0 {
			read = time.Now()
		}
		pause.Reset(relistPause)
		if err != nil {
			if ctx.Err() == nil {
				r.log.Warn().Err(err).Msg("the changed list of tools could not be read; the former one stands")
			}
			continue
		}
		for _, note := range notes {
			r.log.Warn().Msg(note)
		}
		base = o
		select {
		case <-r.offers: // a newer one takes its place
		default:
		}
		r.offers <- o
	}
}

// outlived tells when the time to live that a child gave its lists is over. It never is
// for a child that announces changes.
func outlived(o *offers.Offer) (<-chan time.Time, func()) {
	announces := string(jsonrpc.Get(jsonrpc.Get(o.Capabilities, "tools"), "listChanged")) == "true"
	if o.Fresh <= 0 || announces {
		return nil, func() {}
	}
	t := time.NewTimer(max(o.Fresh, leastFresh))
	return t.C, func() { t.Stop() }
}

// outlivedUnannounced tells when lists are to be read again of whose changes no notification tells, after they were read at a
// time: when the time to live is over that the child gave them, but not soon. Never, where it has none.
func outlivedUnannounced(o *offers.Offer, read time.Time) (which offers.Lists, old <-chan time.Time, stop func()) {
	which, fresh := offers.Unannounced(o)
	if which == 0 {
		return 0, nil, func() {}
	}
	t := time.NewTimer(time.Until(read.Add(max(fresh, leastFresh))))
	return which, t.C, func() { t.Stop() }
}
