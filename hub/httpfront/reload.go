package httpfront

import (
	"net/http"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/hub/httpfront/peers"
)

// This file has a front follow its options while it serves.

// activeOptions is what can be replaced while a front serves. It does not change itself.
type activeOptions struct {
	FrontOptions
	admission *admission.Admission
	peers     *peers.Peers // nil: nothing is forwarded
}

// hasSeveralCallers reports whether more than one caller can be told apart.
func (o *activeOptions) hasSeveralCallers() bool { return len(o.Tokens) > 1 || o.Resource != nil }

// metadataHandler serves what tells clients where to get a token; nil if that is not at this path.
func (f *Front) metadataHandler(path string) http.Handler {
	return f.active.Load().admission.Metadata(path)
}

// Prepare makes what other options need; follow puts them in force, at any time. The error
// reports why no one could call by them. Sessions, Principal, Hurry and Log stay New's.
//
// Each session is then looked at by them: one whose caller they would not let in, or with
// other rights, ends at once. The calls of all others go on.
func (f *Front) Prepare(options FrontOptions) (follow func(), err error) {
	if options.Idle <= 0 {
		options.Idle = 30 * time.Minute
	}
	admitted, err := admission.New(options.admissionOptions())
	if err != nil {
		return nil, err
	}
	others := peers.New(peers.Options{Addresses: options.Peers, Node: options.Node, Seal: f.hub.Seal(), Log: f.log})
	return func() { f.followOptions(&activeOptions{options, admitted, others}) }, nil
}

func (f *Front) followOptions(next *activeOptions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before := f.active.Swap(next); before != nil { // under mu: the one who enters is looked at by the one or by the other
		before.peers.Close()
	}
	for _, share := range f.shares {
		share.MaxSessions = f.principalLimits().Sessions // which depends on whether there may be others
	}
	gone := 0
	for _, session := range f.allSessions() {
		if next.admission.StillAdmits(session.caller) {
			continue
		}
		gone++
		session.cancel(errRevoked)
		f.endSession(session)
	}
	if gone > 0 {
		f.log.Info().Int("sessions", gone).Msg("sessions end whose token counts no more, or not as it did")
	}
}
