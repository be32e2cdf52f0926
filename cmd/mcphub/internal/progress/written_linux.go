package progress

import "mcphub/internal/proctree"

// Written returns how many bytes a process and the ones that it has started have written: a launcher that downloads writes packages.
func Written(pid int) int64 { return proctree.Written(pid) }
