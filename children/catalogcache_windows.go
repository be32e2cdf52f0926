package children

import "io/fs"

// private has nothing to look at: the folder is below the user's own profile,
// whose access list it inherits.
func private(fs.FileInfo) error { return nil }

// inode is not told by a FileInfo here.
func inode(fs.FileInfo) uint64 { return 0 }
