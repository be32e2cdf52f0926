package sandbox

import (
	"os"
	"sync"
)

// Made is which files the runs of an entry have made beside its files. All hubs of a user share it, and it outlives
// them, if it has a file. The zero Made is none and has no file. Its methods may be called from any goroutine.
type Made struct {
	// File returns the path of the file, which is there then. It is set before the first run; nil if there is no file.
	File func() (string, error)

	mu    sync.Mutex
	paths map[identity]string // of what is there, as far as is known
	kept  *os.File            // nil until it is needed, and if it cannot be had
	read  int64               // bytes of kept that are in paths
	limit int64               // bytes of kept beyond which it is put in order
}

// An identity is a file, whatever its name is. Another one that has its number later was
// born at another time.
type identity struct {
	inode
	born int64 // in nanoseconds; 0 if the file system does not know
}
