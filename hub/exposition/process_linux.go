package exposition

import (
	"bytes"
	"os"
	"strconv"
)

func usageNow() (u usage) {
	u.ofSystem()
	if raw, err := os.ReadFile("/proc/self/statm"); err == nil {
		page := int64(os.Getpagesize())
		for i, f := range bytes.Fields(raw) {
			n, _ := strconv.ParseInt(string(f), 10, 64)
			switch i {
			case 0:
				u.virtual = n * page
			case 1:
				u.resident = n * page
			}
		}
	}
	if d, err := os.Open("/proc/self/fd"); err == nil {
		names, _ := d.Readdirnames(-1)
		_ = d.Close()
		u.open = len(names)
	}
	return u
}
