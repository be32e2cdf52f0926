package sandbox

import (
	"os"
	"sync"
)

// openedPaths keeps paths open that the profiles of servers have in common, while these servers start. Any goroutine may use it.
type openedPaths struct {
	mu      sync.Mutex
	holders int // while there is one, what is opened stays open
	paths   map[string]openedPath
	files   []*os.File // of paths, and of what paths led to before
}

// An openedPath is a path that is open, and what it led to then.
type openedPath struct {
	fd    int
	inode inode
	dir   bool
	name  []byte // the path as the kernel takes it
}

// Hold keeps open what starts open by this cache, until release is called. A nil LstatCache keeps nothing.
func (cache *LstatCache) Hold() (release func()) {
	if cache == nil {
		return func() {}
	}
	return cache.opened.hold()
}

func (o *openedPaths) hold() (release func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holders++
	return sync.OnceFunc(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.holders--; o.holders > 0 {
			return
		}
		for _, f := range o.files {
			_ = f.Close()
		}
		o.paths, o.files = nil, nil
	})
}

// OpenWith has the Ruleset of the profile use what others keep open that start with the same cache.
func (p *Profile) OpenWith(looks *LstatCache) {
	if looks != nil {
		p.opened = looks.opened
	}
}
