package guardian

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// GiveBack takes the pages of the program's files out of this process: most
// were needed to get here and are not again. One that is comes back from the
// page cache. Only mappings that cannot be
// written to and hold no page of this process's own are touched: what a loader
// has relocated exists nowhere else.
func GiveBack() {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range cleanMappings(maps) {
		// The raw call: these are not addresses that Go manages.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

type mapping struct{ from, to uintptr }

// cleanMappings finds in /proc/PID/smaps (proc_pid_smaps(5)) the private
// read-only mappings of files without a page that differs from the file.
func cleanMappings(smaps []byte) []mapping {
	var out []mapping
	var now mapping
	for line := range bytes.Lines(smaps) {
		f := bytes.Fields(line)
		switch {
		case len(f) >= 5 && !bytes.HasSuffix(f[0], []byte{':'}):
			// 00400000-00876000 r-xp 00000000 fe:00 9984784 /usr/bin/mcphub
			now = mapping{}
			from, to, _ := bytes.Cut(f[0], []byte{'-'})
			lo, errLo := strconv.ParseUint(string(from), 16, 64)
			hi, errHi := strconv.ParseUint(string(to), 16, 64)
			perms := string(f[1])
			if errLo == nil && errHi == nil && len(f) >= 6 && f[5][0] == '/' && (perms == "r-xp" || perms == "r--p") {
				now = mapping{uintptr(lo), uintptr(hi)}
			}
		case len(f) >= 2 && string(f[0]) == "Anonymous:" && string(f[1]) == "0" && now.to > now.from:
			out = append(out, now)
			now = mapping{}
		}
	}
	return out
}
