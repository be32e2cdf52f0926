package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
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

// An Attachment is a session in surroundings of its own.
type Attachment struct {
	hub          *Hub
	surroundings *Surroundings
	looking      chan struct{} // holds the token of who looks at its folders
	prepared     *clientConfig

	current configuration.Current   // what it goes by once it is served
	end     context.CancelCauseFunc // of the session
}

// A clientConfig is what a configuration comes to in the surroundings of one session.
type clientConfig struct {
	base *configuration.Configuration // that was read there
	set  configuration.Settings
	conf *configuration.Configuration
	was  bool            // conf was in force already
	seen children.Looked // of what conf names, where it was not
}

const (
	// lookTime bounds how long a session's folders may take to answer when it attaches: those of its PATH and its roots
	// may lie on a mount that hangs. Its adapter waits a little longer, and has a hub of its own then.
	lookTime = 1200 * time.Millisecond
	// rereadTime is that bound for a reload, which ends the session. Nobody else waits for that, so a machine that is
	// busy has time.
	rereadTime = 15 * time.Second
	// mostHung is how many sessions may have folders that never answered: each keeps a thread of this process.
	mostHung = 32
	// mostPrepared is how often a session is prepared whose configuration is replaced meanwhile.
	mostPrepared = 16
)

var errHung = errors.New("its folders do not answer: one of its PATH, or a root, may lie on a mount that hangs")

// Prepare makes ready to serve a session in its surroundings. The error says why it cannot be served there; it is an
// ErrSurroundings. What there is to say of them goes to their Log.
func (h *Hub) Prepare(ctx context.Context, s Surroundings) (*Attachment, error) {
	if n := h.hung.Load(); n >= mostHung {
		return nil, fmt.Errorf("%w: the folders of %d sessions before it have not answered yet", ErrSurroundings, n)
	}
	a := &Attachment{hub: h, surroundings: &s, looking: make(chan struct{}, 1)}
	return a, a.prepare(ctx)
}

func (a *Attachment) prepare(ctx context.Context) (err error) {
	h := a.hub
	h.mu.Lock()
	inForce := h.inForce()
	h.mu.Unlock()
	a.prepared, err = a.read(ctx, lookTime, inForce, h.sup.LookAtNew)
	return err
}

// read reads the first of some configurations in the surroundings, for no longer than limit. The others are what it
// comes to for other sessions. It waits for the disk, so no lock is held. look looks at what the entries name; nil: that is not remembered.
func (a *Attachment) read(ctx context.Context, limit time.Duration, inForce []*configuration.Configuration, look func([]spec.Spec) children.Looked) (*clientConfig, error) {
	if a.surroundings.SameAsHub() {
		return &clientConfig{base: inForce[0], conf: inForce[0], was: true}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %w", ErrSurroundings, errHung))
	defer cancel()
	select {
	case a.looking <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var c *clientConfig
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer func() { <-a.looking }()
		c, err = a.readNow(inForce, look)
	}()
	select {
	case <-read:
		return c, err
	case <-ctx.Done():
		a.hub.hung.Add(1)
		go func() { // it ends when the mount answers
			<-read
			a.hub.hung.Add(-1)
		}()
		return nil, context.Cause(ctx)
	}
}

// readNow is read, for as long as the disk takes.
func (a *Attachment) readNow(inForce []*configuration.Configuration, look func([]spec.Spec) children.Looked) (*clientConfig, error) {
	base := inForce[0]
	c := &clientConfig{base: base}
	var err error
	if c.set, err = base.In(a.surroundings); err != nil {
		return nil, err
	}
	if c.conf = c.among(inForce); c.conf != nil {
		c.was = true
		return c, nil
	}
	if c.conf, err = base.ForClient(c.set, a.hub.ownTools); err != nil {
		return nil, err
	}
	if look == nil {
		return c, nil
	}
	var others []spec.Spec
	for _, one := range c.conf.Specs() {
		if one.Variant != "" { // else it is base's
			others = append(others, one)
		}
	}
	c.seen = look(others)
	return c, nil
}

// attach puts what was prepared in force. Where the configuration was replaced meanwhile it is prepared again.
func (h *Hub) attach(ctx context.Context, a *Attachment) error {
	for range mostPrepared {
		if h.enter(a) {
			return nil
		}
		if err := a.prepare(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: hub.json is read again all the time", ErrSurroundings)
}

// enter is one attempt of attach. It looks at no disk.
func (h *Hub) enter(a *Attachment) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := a.prepared
	if c.base != h.now() {
		return false
	}
	inForce := h.inForce()
	conf := c.among(inForce)
	known := slices.Contains(inForce, conf)
	if c.was && !known { // the last session that went by it has ended
		return false
	}
	a.current.Set(conf)
	a.prepared = nil
	h.attachments = append(h.attachments, a)
	if !known {
		h.sup.Know(h.specs(), c.seen)
		conf.Followed(nil)
	}
	return true
}

// among is the Configuration: that of these which is the same, or its own.
func (c *clientConfig) among(all []*configuration.Configuration) *configuration.Configuration {
	for _, conf := range all {
		if conf != c.base && conf.Matches(&c.set) {
			return conf
		}
	}
	return c.conf
}

// detach lets go of a session that has ended.
func (h *Hub) detach(a *Attachment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attachments = slices.DeleteFunc(h.attachments, func(o *Attachment) bool { return o == a })
	if !slices.Contains(h.inForce(), a.current.Now()) {
		h.sup.Know(h.specs())
	}
}

// tellClient tells the record and the hub's own log who has come with this session.
func (s *Session) tellClient(of *Surroundings) {
	by := audit.ClientInfo{Name: printable.Escape(s.clientName(), 200), Folder: printable.Escape(of.Dir, longestFolder), Process: of.Client.PID, Adapter: of.Adapter.PID}
	s.records.Session(by)
	log := s.hub.now().Log
	log.Info().Str("session", s.id[:8]).Str("client", by.Name).Str("folder", by.Folder).Int("process", by.Process).Int("adapter", by.Adapter).Msg("a session has begun")
}

// longestFolder is how much of a folder's path is told.
const longestFolder = 500

// A rereadConfig is a clientConfig after a reload; the error is why there is none.
type rereadConfig struct {
	*clientConfig
	err error
}

// readFor reads conf for sessions, for all at once: it takes no longer than for one.
func (h *Hub) readFor(conf *configuration.Configuration, sessions []*Attachment, look func([]spec.Spec) children.Looked) map[*Attachment]rereadConfig {
	out := make(map[*Attachment]rereadConfig, len(sessions))
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, a := range sessions {
		all.Go(func() {
			c, err := a.read(context.Background(), rereadTime, []*configuration.Configuration{conf}, look)
			mu.Lock()
			defer mu.Unlock()
			out[a] = rereadConfig{c, err}
		})
	}
	all.Wait()
	return out
}

// forEach is what conf comes to for each session. One for which it cannot be goes by conf, and ended is
// told why: what a reload takes away counts for everybody. h.mu is held.
func (h *Hub) forEach(conf *configuration.Configuration, read map[*Attachment]rereadConfig, ended func(a *Attachment, why error)) map[*configuration.Current]*configuration.Configuration {
	next := map[*configuration.Current]*configuration.Configuration{&h.current: conf}
	var made []*configuration.Configuration
	for _, a := range h.attachments {
		now := conf
		if r, known := read[a]; known && r.err != nil {
			ended(a, r.err)
		} else if known {
			now = r.among(made)
		}
		made = append(made, now)
		next[&a.current] = now
	}
	return next
}

// unread are the sessions that are not among those that were read. h.mu is held.
func (h *Hub) unread(read map[*Attachment]rereadConfig) (all []*Attachment) {
	for _, a := range h.attachments {
		if _, known := read[a]; !known {
			all = append(all, a)
		}
	}
	return all
}

// endOverReload ends a session that cannot be served by a configuration that was read again.
func (h *Hub) endOverReload(a *Attachment, why error) {
	for _, log := range []zerolog.Logger{h.logOf(a), h.now().Log} {
		log.Error().Err(why).Str("folder", a.surroundings.Dir).Int("client", a.surroundings.Client.PID).Msg("a session ends, because hub.json was read again and cannot be served to it by this hub")
	}
	a.end(why)
}

// logOf is where what is about a session goes.
func (h *Hub) logOf(a *Attachment) zerolog.Logger {
	if a != nil && a.surroundings.Log != nil {
		return *a.surroundings.Log
	}
	return h.now().Log
}

// inForce are the configurations that somebody goes by, each once: that of the hub's own
// surroundings first. h.mu is held.
func (h *Hub) inForce() []*configuration.Configuration {
	all := []*configuration.Configuration{h.now()}
	for _, a := range h.attachments {
		if conf := a.current.Now(); !slices.Contains(all, conf) {
			all = append(all, conf)
		}
	}
	return all
}

// specs are how all children are run that somebody may ask for. h.mu is held.
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

// attached are the ids of the sessions that an instance serves, as far as they are Attachments.
func (h *Hub) attached(k spec.Key) (ids []string) {
	for _, s := range h.sessions.Served(k) {
		if s.attachment != nil {
			ids = append(ids, s.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Clients are the processes of all clients that have said theirs.
func (h *Hub) Clients() (all []caller.Process) {
	for _, s := range h.sessions.Sessions() {
		if s.attachment != nil {
			all = append(all, s.attachment.surroundings.Client)
		}
	}
	return all
}
