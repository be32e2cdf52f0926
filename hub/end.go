package hub

import (
	"cmp"
	"context"
	"slices"
)

// This file ends sessions for the one who operates the hub.

// An EndedSession is a session that EndSessions has found. JSON.
type EndedSession struct {
	ID        string `json:"id"`
	Principal string `json:"principal"`
	Client    string `json:"client,omitempty"`
	Kept      string `json:"kept,omitempty"` // why it goes on; "": it has ended
}

// whyStdio is why a session over stdio goes on: it is as long as the streams, and an adapter that loses them would begin another.
const whyStdio = "its client is served over stdio: end that client"

// EndSessions ends the sessions over HTTP that have this id or belong to this principal; "" picks none. Each is recorded first. A
// client that shows a token that is good still may begin another one.
func (h *Hub) EndSessions(ctx context.Context, id, principal string) []EndedSession {
	found, ended := []EndedSession{}, []*Session{}
	for _, s := range h.sessions.Sessions() {
		if s.id != id && (principal == "" || s.principal.String() != principal) {
			continue
		}
		one := EndedSession{ID: s.id, Principal: s.principal.String(), Client: s.clientName()}
		if s.endSession == nil {
			one.Kept = whyStdio
		} else {
			ended = append(ended, s)
			s.records.RecordEnd()
		}
		found = append(found, one)
	}
	h.currentConfiguration().Audit.Flush(ctx)
	for _, s := range ended {
		s.log.Info().Msg("the session is ended by who operates the hub")
		s.endSession()
	}
	slices.SortFunc(found, func(a, b EndedSession) int { return cmp.Compare(a.ID, b.ID) })
	return found
}
