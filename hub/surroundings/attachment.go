package surroundings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/hub/configuration"
)

// An Attachment is a session in surroundings of its own.
type Attachment struct {
	Surroundings *configuration.Surroundings
	Current      configuration.Current // what it goes by once it has entered

	table    *Table
	looking  chan struct{} // holds the token of who looks at its folders
	prepared *clientConfig
	end      context.CancelCauseFunc // of the session
}

// A clientConfig is what a configuration amounts to in the surroundings of one session.
type clientConfig struct {
	base *configuration.Configuration // that was read there
	set  configuration.Settings
	conf *configuration.Configuration
	was  bool                    // conf was in force already
	seen children.InspectedPaths // of what conf names, if it was not
}

const (
	// LookTime bounds how long a session's folders may take to answer when it attaches: those of its PATH and its roots
	// may lie on a mount that hangs. Its adapter waits a little longer, and has a hub of its own then.
	LookTime = 1200 * time.Millisecond
	// RereadTime is that bound for a reload, which ends the session. No one else waits for that, so a machine that is
	// busy has time.
	RereadTime = 15 * time.Second
	// MaxHung is how many sessions may have folders that never answered: each keeps a thread of this process.
	MaxHung = 32
	// maxPrepared is how often a session is prepared whose configuration is replaced meanwhile.
	maxPrepared = 16
)

// ErrHung is why a session is refused, or ends, whose folders did not answer in time.
var ErrHung = errors.New("its folders do not answer: one of its PATH, or a root, may lie on a mount that hangs")

// Prepare makes ready to serve a session in its surroundings. The error reports why it cannot be served there; it
// is a [configuration.ErrSurroundings].
func (t *Table) Prepare(ctx context.Context, s configuration.Surroundings) (*Attachment, error) {
	if n := t.hung.Load(); n >= MaxHung {
		return nil, fmt.Errorf("%w: the folders of %d sessions before it have not answered yet", configuration.ErrSurroundings, n)
	}
	a := &Attachment{table: t, Surroundings: &s, looking: make(chan struct{}, 1)}
	return a, a.prepareOnce(ctx)
}

func (a *Attachment) prepareOnce(ctx context.Context) (err error) {
	a.prepared, err = a.readConfig(ctx, LookTime, a.table.InForce(), a.table.sup.InspectNewPaths)
	return err
}

// readConfig reads the first of some configurations in the surroundings, for no longer than limit. The others are what it amounts to for
// other sessions. It waits for the disk, so no lock is held. look looks at what the entries name; nil: that is not remembered.
func (a *Attachment) readConfig(ctx context.Context, limit time.Duration, inForce []*configuration.Configuration, look func([]spec.Spec) children.InspectedPaths) (*clientConfig, error) {
	if a.Surroundings.SameAsHub() {
		return &clientConfig{base: inForce[0], conf: inForce[0], was: true}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %w", configuration.ErrSurroundings, ErrHung))
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
		a.table.hung.Add(1)
		go func() { // it ends when the mount answers
			<-read
			a.table.hung.Add(-1)
		}()
		return nil, context.Cause(ctx)
	}
}

// readNow is read, for as long as the disk takes.
func (a *Attachment) readNow(inForce []*configuration.Configuration, look func([]spec.Spec) children.InspectedPaths) (*clientConfig, error) {
	base := inForce[0]
	c := &clientConfig{base: base}
	var err error
	if c.set, err = base.SettingsFor(a.Surroundings); err != nil {
		return nil, err
	}
	if c.conf = c.configurationAmong(inForce); c.conf != nil {
		c.was = true
		return c, nil
	}
	if c.conf, err = base.ForClient(c.set, a.table.ownTools); err != nil {
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

// Enter puts what was prepared in force, until leave is called. If the configuration was replaced meanwhile it is
// prepared again. ctx ends too when what was read again cannot be served to the session.
func (a *Attachment) Enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	ctx, a.end = context.WithCancelCause(ctx)
	for range maxPrepared {
		if a.tryEnter() {
			return ctx, a.leaveTable, nil
		}
		if err := a.prepareOnce(ctx); err != nil {
			a.end(nil)
			return nil, nil, err
		}
	}
	a.end(nil)
	return nil, nil, fmt.Errorf("%w: hub.json is read again all the time", configuration.ErrSurroundings)
}

// tryEnter is one attempt of Enter. It looks at no disk.
func (a *Attachment) tryEnter() bool {
	t := a.table
	t.mu.Lock()
	defer t.mu.Unlock()
	c := a.prepared
	if c.base != t.own.InForce() {
		return false
	}
	inForce := t.inForce()
	conf := c.configurationAmong(inForce)
	known := slices.Contains(inForce, conf)
	if c.was && !known { // the last session that went by it has ended
		return false
	}
	a.Current.Set(conf)
	a.prepared = nil
	t.attachments = append(t.attachments, a)
	if !known {
		t.sup.SetSpecs(t.allSpecs(), c.seen)
		conf.MarkFollowed(nil)
	}
	return true
}

// configurationAmong returns the Configuration of these that is the same, or else its own.
func (c *clientConfig) configurationAmong(all []*configuration.Configuration) *configuration.Configuration {
	for _, conf := range all {
		if conf != c.base && conf.Matches(&c.set) {
			return conf
		}
	}
	return c.conf
}

// leaveTable lets go of a session that has ended.
func (a *Attachment) leaveTable() {
	defer a.end(nil)
	t := a.table
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attachments = slices.DeleteFunc(t.attachments, func(o *Attachment) bool { return o == a })
	if !slices.Contains(t.inForce(), a.Current.InForce()) {
		t.sup.SetSpecs(t.allSpecs())
	}
}
