package caller

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"mcphub/internal/pipe"
	"mcphub/internal/proctree"
)

// Conn is how a caller reaches the socket of a hub.
type Conn = *pipe.Conn

// stillActive is the exit code of a process that runs.
const stillActive = 259

// Peer refuses the process at the other end of a connection.
func Peer(c Conn, want Want) error {
	if want.Person {
		return errNoTerminal
	}
	pid, opened, err := c.Client()
	if err != nil {
		return fmt.Errorf("%w: %w", errUntold, err)
	}
	process, err := openProcess(pid)
	if err != nil {
		return fmt.Errorf("%w (%w)", errGone, err)
	}
	defer windows.CloseHandle(process)
	if start := startedAt(process); start == 0 || start > ticksOf(opened) { // another process has its id
		return errGone
	}
	var code uint32
	if err := windows.GetExitCodeProcess(process, &code); err != nil || code != stillActive {
		return errGone
	}
	return refuseProcess(process, pid, want)
}

// Self refuses this process.
func Self(want Want) error {
	return refuseProcess(windows.CurrentProcess(), uint32(os.Getpid()), want)
}

func refuseProcess(process windows.Handle, pid uint32, want Want) error {
	switch is, err := proctree.IsServer(process); {
	case err != nil:
		return fmt.Errorf("%w: %w", errUntold, err)
	case is && want.Person:
		return errNoPerson
	case is:
		return errServer
	}
	if len(want.Clients) == 0 {
		return nil
	}
	parents, err := readParents()
	if err != nil {
		return fmt.Errorf("%w: %w", errUntold, err)
	}
	return refuseClient(lineageOf(int(pid), func(pid int) (relative, bool) {
		start := Started(pid)
		return relative{Process: Process{PID: pid, Start: start}, parent: parents[pid]}, start != 0
	}), want)
}

// Started returns the time when a process has started, in 100 ns since 1601; 0 if that cannot be told.
func Started(pid int) uint64 {
	process, err := openProcess(uint32(pid))
	if err != nil {
		return 0
	}
	defer windows.CloseHandle(process)
	return startedAt(process)
}

// openProcess opens a process to ask about it. The lesser right suffices on Windows, and is given of processes with more rights than this one.
func openProcess(pid uint32) (windows.Handle, error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION, false, pid)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		process, err = windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	}
	return process, err
}

func startedAt(process windows.Handle) uint64 {
	var start, end, kernel, user windows.Filetime
	if windows.GetProcessTimes(process, &start, &end, &kernel, &user) != nil {
		return 0
	}
	return uint64(start.HighDateTime)<<32 | uint64(start.LowDateTime)
}

func ticksOf(t time.Time) uint64 {
	at := windows.NsecToFiletime(t.UnixNano())
	return uint64(at.HighDateTime)<<32 | uint64(at.LowDateTime)
}

// readParents has the parent of each process.
func readParents() (map[int]int, error) {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(all)
	of := map[int]int{}
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(all, &entry); err == nil; err = windows.Process32Next(all, &entry) {
		of[int(entry.ProcessID)] = int(entry.ParentProcessID)
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil, err
	}
	return of, nil
}
