package confinement

import (
	"sync"
	"time"

	"mcphub/children/sandbox"
)

// needs are the paths that every program needs (see sandbox.Base), and their targets. A hub starts
// its servers together, so one look at the disk serves them all. A mutex guards it.
type needs struct {
	mu   sync.Mutex
	at   time.Time
	home string
	list []need
}

// A need is one path of what every program needs.
type need struct {
	way    way
	access sandbox.Access
	use    purpose
	watch  bool
}

// needsAge is how old a look at the disk may be.
const needsAge = time.Second

// needsOf returns the needs of a user with this home folder. A way that does not lie in the
// system's places alone, in which no server writes, must be followed again by the one who opens
// it.
func (n *needs) needsOf(home string) []need {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.list != nil && n.home == home && time.Since(n.at) < needsAge {
		return n.list
	}
	n.list, n.home, n.at = nil, home, time.Now()
	looks := sandbox.NewLstatCache() // most of them lie in the same folders
	for _, base := range sandbox.Base() {
		for _, path := range base.PathsIn(home) {
			use := toOpen
			if sandbox.IsFile(path, home) {
				use = asFile
			}
			n.list = append(n.list, need{wayIn(looks, path), base.Access, use, home != "" && sandbox.Contains(home, path)})
		}
	}
	return n.list
}
