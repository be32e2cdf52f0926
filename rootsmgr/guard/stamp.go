package guard

// A DirStamp is what a system changes whenever an entry of a directory is made, removed or replaced. The zero value is none.
type DirStamp struct {
	Device, Inode uint64
	Changed       int64 // nanoseconds since the epoch
}

// A Stamper is an FS that has stamps.
type Stamper interface {
	// Stamp returns the stamp of a directory to which no link leads, without waiting for a disk; false if there is none. Two equal
	// stamps mean that its entries are what they were, if the first one was settled.
	Stamp(dir string) (DirStamp, bool)
	// Settled reports whether each change of an entry that comes now would give the directory another stamp. It asks the disk.
	Settled(dir string, s DirStamp) bool
}
