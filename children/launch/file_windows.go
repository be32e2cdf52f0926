package launch

import "io/fs"

// inodeOf is not told by a FileInfo here.
func inodeOf(fs.FileInfo) uint64 { return 0 }
