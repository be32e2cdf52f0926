package surroundings

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
)

// A Table keeps the sessions in surroundings of their own. It has the supervisor run the children
// of every configuration that a session uses.
type Table struct {
	own      *configuration.Current // of the hub's own surroundings
	sup      *children.Supervisor
	ownTools []catalog.HubTool

	hung atomic.Int64 // sessions whose folders were looked at, and have not answered

	mu          sync.Mutex    // held while what is in force is replaced, but for no disk
	attachments []*Attachment // that are served; guarded by mu
}

// NewTable makes a Table of a hub that goes by own, and whose tools are ownTools.
func NewTable(own *configuration.Current, sup *children.Supervisor, ownTools []catalog.HubTool) *Table {
	return &Table{own: own, sup: sup, ownTools: ownTools}
}

// PutInForce puts conf in force, for sessions and supervisor alike. replace is given what each goes by from then on, while no one
// enters. A session for which conf cannot be ends, and ended learns why. No two calls run at a time. The disk is read before
// the lock is taken: who enters meanwhile is read in the next round.
func (t *Table) PutInForce(conf *configuration.Configuration, replace func(map[*configuration.Current]*configuration.Configuration), ended func(*Attachment, error)) {
	seen, read := []children.InspectedPaths{t.sup.InspectPaths(conf.Specs())}, map[*Attachment]rereadConfig{}
	t.mu.Lock()
	defer t.mu.Unlock()
	for missing := t.unreadAttachments(read); len(missing) > 0; missing = t.unreadAttachments(read) {
		t.mu.Unlock()
		maps.Copy(read, t.readFor(conf, missing, t.sup.InspectPaths))
		t.mu.Lock()
	}
	next := t.forEach(conf, read, func(a *Attachment, why error) {
		ended(a, why)
		a.end(why)
	})
	before := t.inForce()
	for _, r := range read {
		if r.err == nil {
			seen = append(seen, r.seen)
		}
	}
	replace(next)
	t.sup.ApplySpecs(t.allSpecs(), seen...)
	for _, now := range t.inForce() {
		now.MarkFollowed(nil)
	}
	for _, was := range before {
		was.MarkReplaced()
	}
}

// Preview returns what each would go by if conf was put in force.
func (t *Table) Preview(conf *configuration.Configuration) map[*configuration.Current]*configuration.Configuration {
	t.mu.Lock()
	attached := t.unreadAttachments(nil)
	t.mu.Unlock()
	read := t.readFor(conf, attached, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.forEach(conf, read, func(*Attachment, error) {})
}

// InForce returns the configurations that someone goes by, each once: the hub's own
// surroundings first.
func (t *Table) InForce() []*configuration.Configuration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inForce()
}

// A rereadConfig is a clientConfig after a reload; the error is why there is none.
type rereadConfig struct {
	*clientConfig
	err error
}

// readFor reads conf for sessions, for all at once: it takes no longer than for one.
func (t *Table) readFor(conf *configuration.Configuration, sessions []*Attachment, look func([]spec.Spec) children.InspectedPaths) map[*Attachment]rereadConfig {
	out := make(map[*Attachment]rereadConfig, len(sessions))
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, a := range sessions {
		all.Go(func() {
			c, err := a.readConfig(context.Background(), RereadTime, []*configuration.Configuration{conf}, look)
			mu.Lock()
			defer mu.Unlock()
			out[a] = rereadConfig{c, err}
		})
	}
	all.Wait()
	return out
}

// forEach returns what conf amounts to for each session. One for which it cannot be goes by conf, and
// ended learns why: what a reload takes away counts for everybody. t.mu is held.
func (t *Table) forEach(conf *configuration.Configuration, read map[*Attachment]rereadConfig, ended func(a *Attachment, why error)) map[*configuration.Current]*configuration.Configuration {
	next := map[*configuration.Current]*configuration.Configuration{t.own: conf}
	var made []*configuration.Configuration
	for _, a := range t.attachments {
		now := conf
		if r, known := read[a]; known && r.err != nil {
			ended(a, r.err)
		} else if known {
			now = r.configurationAmong(made)
		}
		made = append(made, now)
		next[&a.Current] = now
	}
	return next
}

// unreadAttachments returns the sessions that are not among the ones that were read. t.mu is held.
func (t *Table) unreadAttachments(read map[*Attachment]rereadConfig) (all []*Attachment) {
	for _, a := range t.attachments {
		if _, known := read[a]; !known {
			all = append(all, a)
		}
	}
	return all
}

// inForce works like InForce; t.mu is held.
func (t *Table) inForce() []*configuration.Configuration {
	all := []*configuration.Configuration{t.own.InForce()}
	for _, a := range t.attachments {
		if conf := a.Current.InForce(); !slices.Contains(all, conf) {
			all = append(all, conf)
		}
	}
	return all
}

// allSpecs returns how all children are run that someone may ask for. t.mu is held.
func (t *Table) allSpecs() (all []spec.Spec) {
	for _, conf := range t.inForce() {
		all = append(all, conf.Specs()...)
	}
	return all
}

// Counts returns how many sessions are served, and how many were looked at whose folders have not answered.
func (t *Table) Counts() (served, hung int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.attachments), int(t.hung.Load())
}
