package admin

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// A Kin tells the servers of hubs from others who connect on this machine by TCP, where
// there is no token by which that would be told. It holds no more than one look at a time.
type Kin struct {
	folders []string
	mu      sync.Mutex
}

// NewKin knows the hubs whose sockets lie in these folders, and this one.
func NewKin(folders []string) *Kin { return &Kin{folders: folders} }

// hubs are the processes of this user's hubs, by the names of their sockets.
func (k *Kin) hubs() map[int]bool {
	all := map[int]bool{os.Getpid(): true}
	for _, dir := range k.folders {
		names, _ := os.ReadDir(dir) // what cannot be read holds nothing for us
		for _, e := range names {
			id, _, _ := strings.Cut(filepath.Base(e.Name()), "-")
			if pid, err := strconv.Atoi(id); err == nil && pid > 1 && e.Type()&os.ModeSocket != 0 {
				all[pid] = true
			}
		}
	}
	return all
}
