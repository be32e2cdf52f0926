package setup

import (
	"os"
	"path/filepath"
	"strconv"

	"mcphub/internal/proctree"
)

// programFolder returns the folder of the program that a process runs; "" if that cannot be told. If the process is a guardian of this hub, its
// parent counts.
func programFolder(pid int) string {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return ""
	}
	for range 2 {
		program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if err != nil {
			return ""
		}
		if program != own {
			return filepath.Dir(program)
		}
		p, err := proctree.Find(pid)
		if err != nil {
			return ""
		}
		pid = p.Parent
	}
	return ""
}
