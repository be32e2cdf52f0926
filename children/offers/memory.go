package offers

import (
	"slices"
	"sync"

	"github.com/rs/zerolog"
)

// A Memory is what children offered last: in this run of the hub, else in an
// earlier one. The same bytes are the same *Offer for everybody.
type Memory struct {
	files cache

	mu    sync.Mutex
	known map[string][]remembered // by the name of the entry, the latest first
}

// NewMemory returns a Memory that keeps files in a folder, made when needed; "":
// in none.
func NewMemory(folder string, log zerolog.Logger) *Memory {
	return &Memory{files: cache{dir: folder, log: log}, known: map[string][]remembered{}}
}

// maxRemembered bounds how many offers of one Spec are kept in memory: one for
// each set of capabilities that clients have, and of roots.
const maxRemembered = 64

type remembered struct {
	digest string
	offer  *Offer
}

// Recall returns what was offered last under a name and a digest, nil where that is
// not known. It reads at most one file.
func (m *Memory) Recall(name, digest string) *Offer {
	if digest == "" {
		return nil
	}
	if o := m.get(name, digest); o != nil {
		return o
	}
	o := m.files.load(digest)
	if o == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.find(name, digest); now != nil {
		return now
	}
	o = m.same(name, o)
	m.put(name, digest, o)
	return o
}

func (m *Memory) get(name, digest string) *Offer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(name, digest)
}

// find is for callers that hold mu.
func (m *Memory) find(name, digest string) *Offer {
	for _, now := range m.known[name] {
		if now.digest == digest {
			return now.offer
		}
	}
	return nil
}

// same returns the offer of a name that holds the same bytes: most servers offer the same with all roots.
// It is for callers that hold mu.
func (m *Memory) same(name string, o *Offer) *Offer {
	for _, now := range m.known[name] {
		if now.offer.Equal(o) {
			return now.offer
		}
	}
	return o
}

// put is for callers that hold mu.
func (m *Memory) put(name, digest string, o *Offer) {
	others := slices.DeleteFunc(m.known[name], func(r remembered) bool { return r.digest == digest })
	m.known[name] = append([]remembered{{digest, o}}, others[:min(len(others), maxRemembered-1)]...)
}

// Agree returns the offer that everybody has for these bytes. It is what the next Recall returns;
// news reports that this was another one before.
func (m *Memory) Agree(name, digest string, o *Offer) (same *Offer, news bool) {
	if digest == "" {
		return o, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.find(name, digest); now != nil && now.Equal(o) {
		return now, false
	}
	o = m.same(name, o)
	m.put(name, digest, o)
	return o, true
}

// Keep puts an offer into the file for a digest.
func (m *Memory) Keep(digest string, o *Offer) { m.files.store(digest, o) }
