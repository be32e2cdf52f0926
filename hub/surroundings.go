package hub

import (
	"context"
	"slices"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
	"mcphub/hub/audit"
	"mcphub/hub/configuration"
	"mcphub/hub/surroundings"
	"mcphub/internal/caller"
	"mcphub/internal/kept"
	"mcphub/internal/printable"
)

// This file is about sessions in surroundings of their own: the environment, the working
// directory and the roots that their client's process brings.

// ErrSurroundings is why ServeStdio has served nothing.
var ErrSurroundings = configuration.ErrSurroundings

// An Attachment is a session in surroundings of its own.
type Attachment struct {
	hub *Hub
	at  *surroundings.Attachment
}

// PrepareAttachment makes ready to serve a session in its surroundings. The error reports why it cannot be served there; it is
// an ErrSurroundings. What there is to say about them goes to their Log.
func (h *Hub) PrepareAttachment(ctx context.Context, s Surroundings) (*Attachment, error) {
	at, err := h.surroundings.Prepare(ctx, s)
	return &Attachment{h, at}, err
}

// KeepSession has the state of the session kept for a hub that comes after this one. It is called before ServeStdio.
func (a *Attachment) KeepSession(m *kept.Memory) { a.at.Surroundings.Kept = m }

// tellClient tells the record and the hub's own log who has come with this session.
func (s *Session) tellClient(of *Surroundings) {
	by := audit.ClientInfo{Name: printable.Escape(s.clientName(), 200), Folder: printable.Escape(of.Dir, longestFolder), Process: of.Client.PID, Adapter: of.Adapter.PID}
	s.records.RecordSession(by)
	log := s.hub.currentConfiguration().Log
	log.Info().Str("session", s.id[:8]).Str("client", by.Name).Str("folder", by.Folder).Int("process", by.Process).Int("adapter", by.Adapter).Msg("a session has begun")
}

// longestFolder is how much of a folder's path is told.
const longestFolder = 500

// logEndReason logs, when a session ends, that it cannot be served by a configuration that was read again.
func (h *Hub) logEndReason(a *surroundings.Attachment, why error) {
	for _, log := range []zerolog.Logger{h.logOf(a), h.currentConfiguration().Log} {
		log.Error().Err(why).Str("folder", a.Surroundings.Dir).Int("client", a.Surroundings.Client.PID).Msg("a session ends, because hub.json was read again and cannot be served to it by this hub")
	}
}

// logOf returns where what is about a session goes.
func (h *Hub) logOf(a *surroundings.Attachment) zerolog.Logger {
	if a != nil && a.Surroundings.Log != nil {
		return *a.Surroundings.Log
	}
	return h.currentConfiguration().Log
}

// configurationOf returns the configuration that counts for what an instance does beside its calls.
func (h *Hub) configurationOf(k spec.Key) *configuration.Configuration {
	for _, s := range h.sessions.SessionsOf(k) {
		return s.currentConfiguration()
	}
	return h.currentConfiguration()
}

// attachedSessions returns the ids of the sessions that an instance serves, as far as they are Attachments.
func (h *Hub) attachedSessions(k spec.Key) (ids []string) {
	for _, s := range h.sessions.SessionsOf(k) {
		if s.attachment != nil {
			ids = append(ids, s.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// ClientProcesses returns the processes of all clients that have named their process.
func (h *Hub) ClientProcesses() (all []caller.Process) {
	for _, s := range h.sessions.Sessions() {
		if s.attachment != nil {
			all = append(all, s.attachment.Surroundings.Client)
		}
	}
	return all
}
