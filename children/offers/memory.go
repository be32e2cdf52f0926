package offers

import (
	"slices"
	"sync"

	"github.com/rs/zerolog"
)

// A Memory is what children offered last: in this run of the hub, else in an
// earlier one. The same bytes are the same *RawOffer for everybody.
type Memory struct {
	files cache

	mu    sync.Mutex
	known map[string][]remembered // by the name of the entry, the latest first
}

// NewMemory returns a Memory that keeps files in a folder, made when needed; "":
// in none.
func NewMemory(folder string, log zerolog.Logger) *Memory {
	return &Memory{files: cache{dir: folder, log: log, room: &room{}}, known: map[string][]remembered{}}
}

// maxRemembered bounds how many offers of one Spec are kept in memory: one for
// each set of capabilities that clients have, and of roots. maxRememberedBytes bounds how long they are together;
// the latest is kept in any case.
const (
	maxRemembered      = 64
	maxRememberedBytes = 32 << 20
)

type remembered struct {
	digest    string
	offer     *RawOffer
	unwritten bool // the file for the digest does not hold it
}

// Recall returns what was offered last under a name and a digest, nil if that is
// not known. It reads at most one file.
func (m *Memory) Recall(name, digest string) *RawOffer {
	if digest == "" {
		return nil
	}
	if o := m.getOffer(name, digest); o != nil {
		return o
	}
	o := m.files.loadOffer(digest)
	if o == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.findOffer(name, digest); now != nil {
		return now
	}
	o = m.findSame(name, o)
	m.putOffer(name, remembered{digest: digest, offer: o})
	return o
}

func (m *Memory) getOffer(name, digest string) *RawOffer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.findOffer(name, digest)
}

// findOffer expects the caller to hold mu.
func (m *Memory) findOffer(name, digest string) *RawOffer {
	for _, now := range m.known[name] {
		if now.digest == digest {
			return now.offer
		}
	}
	return nil
}

// findSame returns the offer of a name that holds the same bytes: most servers offer the same with all roots.
// It is for callers that hold mu.
func (m *Memory) findSame(name string, o *RawOffer) *RawOffer {
	for _, now := range m.known[name] {
		if now.offer.Equal(o) {
			return now.offer
		}
	}
	return o
}

// putOffer expects the caller to hold mu.
func (m *Memory) putOffer(name string, r remembered) {
	others := slices.DeleteFunc(m.known[name], func(o remembered) bool { return o.digest == r.digest })
	all := append([]remembered{r}, others[:min(len(others), maxRemembered-1)]...)
	counted, bytes := map[*RawOffer]bool{}, 0
	for i, now := range all {
		if !counted[now.offer] {
			counted[now.offer] = true
			bytes += now.offer.memorySize()
		}
		if bytes > maxRememberedBytes && i > 0 {
			all = all[:i]
			break
		}
	}
	m.known[name] = all
}

// Agree returns the one offer with these bytes, which all instances share. The next Recall returns it.
func (m *Memory) Agree(name, digest string, o *RawOffer) *RawOffer {
	if digest == "" {
		return o
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.findOffer(name, digest); now != nil && now.Equal(o) {
		return now
	}
	o = m.findSame(name, o)
	m.putOffer(name, remembered{digest, o, true})
	return o
}

// Keep writes what is remembered of a name and is in no file yet.
func (m *Memory) Keep(name string) {
	for _, r := range m.takeUnwritten(name) {
		m.files.storeOffer(r.digest, r.offer)
	}
}

// takeUnwritten returns what is to be written, once.
func (m *Memory) takeUnwritten(name string) (list []remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.known[name] {
		if r := &m.known[name][i]; r.unwritten {
			r.unwritten = false
			list = append(list, *r)
		}
	}
	return list
}
