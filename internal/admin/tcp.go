package admin

import "sync"

// A Kin tells the servers of hubs from others who connect on this machine by TCP, where
// there is no token by which that would be told. It holds no more than one look at a time.
type Kin struct {
	folders []string
	mark    string
	mu      sync.Mutex
}

// NewKin knows the hubs whose sockets lie in these folders, this one, and whom a hub has
// started with the variable mark.
func NewKin(folders []string, mark string) *Kin { return &Kin{folders: folders, mark: mark} }
