package launch

import "io/fs"

// inode is not told by a FileInfo here.
func inode(fs.FileInfo) uint64 { return 0 }
