package proctree

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// All servers of a hub are in one job object, beside the job that bounds each of them. A process that a server starts is in it too,
// and no process leaves it, also when all above that process have ended. The job has a name, by which any process looks it up.

// errNameTaken means that another process has made an object of that name. It could let servers out of the job.
var errNameTaken = errors.New("another process has taken the name of the job object for this hub's servers; start the hub again")

var (
	createJobObject = windows.NewLazySystemDLL("kernel32.dll").NewProc("CreateJobObjectW")
	openJobObject   = windows.NewLazySystemDLL("kernel32.dll").NewProc("OpenJobObjectW")
	isProcessInJob  = windows.NewLazySystemDLL("kernel32.dll").NewProc("IsProcessInJob")
)

// query is the right to ask what is in a job object (JOB_OBJECT_QUERY).
const query = 0x4

// whoMayAsk gives query to every process, and nothing more to any but the one that has made the job: not to its user either.
const whoMayAsk = "D:(A;;0x4;;;WD)(A;;0x4;;;OW)"

func serversName(hub uint32) (*uint16, error) {
	return windows.UTF16PtrFromString(`Global\mcphub-servers-` + strconv.FormatUint(uint64(hub), 10))
}

var servers = sync.OnceValues(func() (windows.Handle, error) {
	name, err := serversName(uint32(os.Getpid()))
	if err != nil {
		return 0, err
	}
	access, err := windows.SecurityDescriptorFromString(whoMayAsk)
	if err != nil {
		return 0, err
	}
	attr := windows.SecurityAttributes{SecurityDescriptor: access}
	attr.Length = uint32(unsafe.Sizeof(attr))
	job, _, err := createJobObject.Call(uintptr(unsafe.Pointer(&attr)), uintptr(unsafe.Pointer(name)))
	switch {
	case job == 0:
		return 0, os.NewSyscallError("CreateJobObject", err)
	case errors.Is(err, windows.ERROR_ALREADY_EXISTS):
		_ = windows.CloseHandle(windows.Handle(job))
		return 0, errNameTaken
	}
	return windows.Handle(job), nil
})

// JoinServers makes a process one of this hub's servers.
func JoinServers(process windows.Handle) error {
	job, err := servers()
	if err != nil {
		return err
	}
	return os.NewSyscallError("AssignProcessToJobObject", windows.AssignProcessToJobObject(job, process))
}

// IsServer reports whether a process is a server of any hub that runs, or was started by one.
func IsServer(process windows.Handle) (bool, error) {
	pids, err := allIDs()
	if err != nil {
		return false, err
	}
	for _, pid := range pids {
		name, err := serversName(pid)
		if err != nil {
			return false, err
		}
		job, _, err := openJobObject.Call(query, 0, uintptr(unsafe.Pointer(name)))
		switch {
		case job == 0 && errors.Is(err, windows.ERROR_FILE_NOT_FOUND): // no hub, or one without servers
			continue
		case job == 0:
			return false, fmt.Errorf("the servers of process %d: %w", pid, err)
		}
		var is int32
		ok, _, err := isProcessInJob.Call(uintptr(process), job, uintptr(unsafe.Pointer(&is)))
		_ = windows.CloseHandle(windows.Handle(job))
		switch {
		case ok == 0:
			return false, os.NewSyscallError("IsProcessInJob", err)
		case is != 0:
			return true, nil
		}
	}
	return false, nil
}

// allIDs lists the ids of all processes.
func allIDs() ([]uint32, error) {
	for pids := make([]uint32, 1024); ; pids = make([]uint32, 2*len(pids)) {
		var size uint32
		if err := windows.EnumProcesses(pids, &size); err != nil {
			return nil, os.NewSyscallError("EnumProcesses", err)
		}
		if n := int(size / 4); n < len(pids) {
			return pids[:n], nil
		}
	}
}
