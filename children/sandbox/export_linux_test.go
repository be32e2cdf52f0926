package sandbox

import (
	"sync"

	"golang.org/x/sys/unix"
)

// A Hang is the lock of a folder on a file system that hangs.
type Hang struct {
	once  sync.Once
	waits chan struct{}
	free  chan struct{}
}

// HangFolder has brokers wait that change names in a folder, until Free is called. It is called before the folder
// has a broker.
func HangFolder(path string) *Hang {
	fd, err := findOwn(path)
	if err != nil {
		panic(err)
	}
	defer func() { _ = unix.Close(fd) }()
	h := &Hang{waits: make(chan struct{}), free: make(chan struct{})}
	changing.Store(inodeOf(fd), h)
	return h
}

// Lock waits for Free.
func (h *Hang) Lock() {
	h.once.Do(func() { close(h.waits) })
	<-h.free
}

// Unlock does nothing.
func (h *Hang) Unlock() {}

// Waits returns a channel that is closed once a broker waits.
func (h *Hang) Waits() <-chan struct{} { return h.waits }

// Free has no one wait any more.
func (h *Hang) Free() { close(h.free) }
