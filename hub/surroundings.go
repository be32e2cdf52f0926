package hub

import (
	"context"
	"slices"

	"github.com/rs/zerolog"

	"mcphub/children/spec"
	"mcphub/hub/configuration"
	"mcphub/internal/audit"
	"mcphub/internal/caller"
	"mcphub/internal/printable"
)

// This file is about sessions in surroundings of their own: the environment, the working
// directory and the roots that their client's process brings.

// ErrSurroundings is why ServeStdio has served nothing.
var ErrSurroundings = configuration.ErrSurroundings

// A place is the surroundings of one session, and what it goes by there.
type place struct {
	around  *Surroundings
	current configuration.Current
	end     context.CancelCauseFunc // of the session
}

// enter makes the place of a session; nil where that is the hub's own surroundings.
func (h *Hub) enter(ctx context.Context, around *Surroundings, end context.CancelCauseFunc) (*place, error) {
	if around.Own() && around.Log == nil && around.Client.PID == 0 {
		return nil, nil
	}
	done, err := h.beginReplacing(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	at := &place{around: around, end: end}
	base := h.now()
	conf, err := h.configurationIn(base, at, h.inForce())
	if err != nil {
		return nil, err
	}
	at.current.Set(conf)
	known := slices.Contains(h.inForce(), conf)
	h.elsewhere = append(h.elsewhere, at)
	if !known {
		h.sup.Know(h.specs())
		conf.Followed(nil)
	}
	return at, nil
}

// leave lets go of the place of a session that has ended.
func (h *Hub) leave(at *place) {
	if at == nil {
		return
	}
	done, _ := h.beginReplacing(context.Background()) // it never ends
	defer done()
	h.elsewhere = slices.DeleteFunc(h.elsewhere, func(o *place) bool { return o == at })
	if !slices.Contains(h.inForce(), at.current.Now()) {
		h.sup.Know(h.specs())
	}
}

// tellClient tells the record and the hub's own log who has come with this session.
func (s *Session) tellClient(around *Surroundings) {
	by := audit.Client{Name: printable.Escape(s.clientName(), 200), Folder: printable.Escape(around.Dir, longestFolder), Process: around.Client.PID, Adapter: around.Adapter.PID}
	s.records.Session(by)
	log := s.hub.now().Log
	log.Info().Str("session", s.id[:8]).Str("client", by.Name).Str("folder", by.Folder).Int("process", by.Process).Int("adapter", by.Adapter).Msg("a session has begun")
}

// longestFolder is how much of a folder's path is told.
const longestFolder = 500

// configurationIn is what base comes to at a place: one of those that there are, or another.
func (h *Hub) configurationIn(base *configuration.Configuration, at *place, others []*configuration.Configuration) (*configuration.Configuration, error) {
	if at.around.Own() {
		return base, nil
	}
	set, err := base.In(at.around)
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		if o != base && o.Gives(&set) {
			return o, nil
		}
	}
	return base.Elsewhere(set, h.own)
}

// everywhere is what conf comes to for all sessions. One for which it cannot be goes by conf, and ended is
// told why: what a reload takes away counts for everybody.
func (h *Hub) everywhere(conf *configuration.Configuration, ended func(at *place, why error)) map[*configuration.Current]*configuration.Configuration {
	next := map[*configuration.Current]*configuration.Configuration{&h.current: conf}
	var made []*configuration.Configuration
	for _, at := range h.elsewhere {
		now, err := h.configurationIn(conf, at, made)
		if err != nil {
			ended(at, err)
			now = conf
		}
		made = append(made, now)
		next[&at.current] = now
	}
	return next
}

// endOverReload ends a session that cannot be served by a configuration that was read again.
func (h *Hub) endOverReload(at *place, why error) {
	for _, log := range []zerolog.Logger{h.logOf(at), h.now().Log} {
		log.Error().Err(why).Str("folder", at.around.Dir).Int("client", at.around.Client.PID).Msg("a session ends, because hub.json was read again and cannot be served to it by this hub")
	}
	at.end(why)
}

// logOf is where what is about a session goes.
func (h *Hub) logOf(at *place) zerolog.Logger {
	if at != nil && at.around.Log != nil {
		return *at.around.Log
	}
	return h.now().Log
}

// inForce are the configurations that somebody goes by, each once: that of the hub's own
// surroundings first.
func (h *Hub) inForce() []*configuration.Configuration {
	all := []*configuration.Configuration{h.now()}
	for _, at := range h.elsewhere {
		if conf := at.current.Now(); !slices.Contains(all, conf) {
			all = append(all, conf)
		}
	}
	return all
}

// specs are how all children are run that somebody may ask for.
func (h *Hub) specs() (all []spec.Spec) {
	for _, conf := range h.inForce() {
		all = append(all, conf.Specs()...)
	}
	return all
}

// nowOf is the configuration that counts for what an instance does beside its calls.
func (h *Hub) nowOf(k spec.Key) *configuration.Configuration {
	for _, s := range h.sessions.Served(k) {
		return s.now()
	}
	return h.now()
}

// attached are the ids of the sessions that an instance serves, as far as they have a place.
func (h *Hub) attached(k spec.Key) (ids []string) {
	for _, s := range h.sessions.Served(k) {
		if s.at != nil {
			ids = append(ids, s.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Clients are the processes of all clients that have said theirs.
func (h *Hub) Clients() (all []caller.Process) {
	for _, s := range h.sessions.Sessions() {
		if s.at != nil {
			all = append(all, s.at.around.Client)
		}
	}
	return all
}

// Accepts says why a session cannot be served in its surroundings; nil: it can. ServeStdio says the same later.
func (h *Hub) Accepts(around *Surroundings) error {
	if around.Own() {
		return nil
	}
	silent := *around
	silent.Log = nil // ServeStdio says what there is to say
	_, err := h.now().In(&silent)
	return err
}
