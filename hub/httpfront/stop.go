package httpfront

import (
	"context"
	"io"
	"net/http"
	"time"

	"mcphub/internal/worker"
)

// This file ends a front in order, so that none of its clients loses a call:
//
//	draining  /readyz is 503, and no session opens. All else goes on: whoever spreads
//	          clients among hubs has not looked at /readyz yet.
//	leaving   A session ends with its last call, and takes no other one. Its clients
//	          find another hub, and open a session there.
//	closed    What is still under way is ended, and its client is told so.
//
// The port stays open until then: the answer to a question of a call under way, and a client
// that comes back for the rest of a stream, must still get in.

// A stage is how far a front has come to its end.
type stage int32

const (
	serving stage = iota
	draining
	leaving
	closed
)

// stopLook is the time between two looks at what is still under way.
const stopLook = 20 * time.Millisecond

// lastAnswersTime is how long the front waits for its last answers to be written.
const lastAnswersTime = 2 * time.Second

func (f *Front) currentStage() stage { return stage(f.stage.Load()) }

// setStage has the front come to a stage. It takes mu, so no one is still acting on the former stage
// when it returns.
func (f *Front) setStage(s stage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stage.Store(int32(s))
	f.forwarded.followStage(s)
}

// stopServer ends the front in order.
func (f *Front) stopServer(server *http.Server) {
	f.setStage(draining)
	o := f.active.Load()
	f.log.Info().Str("drain", o.Drain.String()).Str("grace", o.Grace.String()).Msg("stopping: no session opens any more, and /readyz says so; a second signal ends it at once")
	since := time.Now()
	f.drainWork(o.Drain, func() bool { return false })
	f.setStage(leaving)
	f.drainWork(o.Grace, func() bool { return f.retireAll(since) })
	if n := f.underWay(); n > 0 {
		f.log.Warn().Int("calls", n).Msg("calls under way are ended, and their clients told that they may have run")
	}
	f.closeAll(lastAnswersTime)
	soon, cancel := context.WithTimeout(context.Background(), lastAnswersTime)
	defer cancel()
	if server.Shutdown(soon) != nil {
		_ = server.Close()
	}
	f.running.Wait()
}

// drainWork waits until all is over, for so long at most, and not if someone is in a hurry.
func (f *Front) drainWork(most time.Duration, isDone func() bool) {
	limit := time.NewTimer(most)
	defer limit.Stop()
	look := time.NewTicker(stopLook)
	defer look.Stop()
	for !isDone() {
		select {
		case <-f.fixed.Hurry:
			return
		case <-limit.C:
			return
		case <-look.C:
		}
	}
}

// retireAll ends the sessions whose last call is over, and reports whether that was all. since
// is when the end was asked for.
func (f *Front) retireAll(since time.Time) bool {
	f.mu.Lock()
	sessions := f.allSessions()
	f.mu.Unlock()
	allRetired := f.forwarded.calls.Load() == 0
	for _, session := range sessions {
		if session.retireStreams(since) {
			session.cancel(errStopping)
		} else {
			allRetired = false
		}
	}
	return allRetired
}

// underWay counts the requests whose clients wait for an answer.
func (f *Front) underWay() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = int(f.forwarded.calls.Load())
	for _, session := range f.allSessions() {
		n += session.pendingRequests()
	}
	return n
}

// closeAll ends every session, and waits for the last answers, so long at most.
func (f *Front) closeAll(most time.Duration) {
	f.setStage(closed)
	f.mu.Lock()
	sessions := f.allSessions()
	f.mu.Unlock()
	for _, session := range sessions {
		session.cancel(errStopping)
	}
	ended := make(chan struct{})
	go func() { // it ends with the front, which waits for the same
		f.running.Wait()
		close(ended)
	}()
	worker.Within(ended, most)
}

// retireStreams ends the streams of a client, if no call of it is under way, and reports whether
// they have ended. Then it takes no connection any more. since is when the front began to
// stop.
func (session *FrontSession) retireStreams(since time.Time) bool {
	if session.modernSession != nil {
		session.modernSession.HangUp()
	}
	session.mu.Lock()
	defer session.mu.Unlock()
	if session.openPosts+session.listens+len(session.serving) > 0 {
		return false
	}
	for _, stream := range session.finished {
		if stream.HasUndelivered(since) {
			return false
		}
	}
	session.ended = true
	session.standaloneStream.End()
	return !session.standaloneStream.HasFollower()
}

// pendingRequests counts the requests whose client waits for an answer.
func (session *FrontSession) pendingRequests() int {
	session.mu.Lock()
	defer session.mu.Unlock()
	if session.modernSession != nil {
		return session.openPosts
	}
	return len(session.serving)
}

// answerReadyz reports whether calls are served.
func (f *Front) answerReadyz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if f.currentStage() >= draining {
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	}
	if err := f.hub.Ready(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}
