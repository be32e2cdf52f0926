package process

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"github.com/rs/zerolog"
	"golang.org/x/sys/windows"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/proctree"
)

var ntResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// group is a job object: what the child starts is in it, and closing
// it, which the end of the hub does too, ends them all.
type group struct {
	pid    int
	cmd    *exec.Cmd
	bounds bounds

	mu  sync.Mutex
	job windows.Handle // 0 before the start and after the end
}

// forkChild starts cmd. Nothing is confined here.
func forkChild(cmd *exec.Cmd, _ *sandbox.Ruleset, _ *bounds) (exited <-chan struct{}, err error) {
	return nil, cmd.Start()
}

// startLeader starts cmd, by fork, suspended, so that nothing it does escapes the job.
func (g *group) startLeader(cmd *exec.Cmd, fork func() error) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	g.bounds.setLimits(&info)
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		_ = windows.CloseHandle(job)
		return fmt.Errorf("job object: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED, HideWindow: true}
	if err := fork(); err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	if err := adoptProcess(job, uint32(cmd.Process.Pid)); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return fmt.Errorf("job object: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.job, g.pid, g.cmd = job, cmd.Process.Pid, cmd
	return nil
}

// bounds are kept by the job: who asks for more memory or one more process does not get it.
type bounds struct {
	limits  program.Limits
	refused chan struct{} // nil: nothing reports it
}

func newBounds(l launch.Launch) bounds { return bounds{limits: l.Limits} }

func (bound bounds) setLimits(info *windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION) {
	if bound.limits.Memory > 0 {
		info.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(bound.limits.Memory)
	}
	if bound.limits.Processes > 0 {
		info.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		info.BasicLimitInformation.ActiveProcessLimit = uint32(bound.limits.Processes)
	}
}

func (bound bounds) reportBounds() link.Bounds {
	if bound.limits == (program.Limits{}) {
		return link.Bounds{By: link.ByNobody, Why: "its entry has no limits"}
	}
	return link.Bounds{By: link.ByJob, Memory: bound.limits.Memory, Processes: bound.limits.Processes}
}

func (bounds) isGrouped() bool            { return false }
func (bounds) removeGroup(zerolog.Logger) {}

// exceededLimit returns "": the job has refused what would exceed.
func (*group) exceededLimit() string { return "" }

// adoptProcess puts a suspended process into the job of all servers and into a job of its own, and lets it run.
func adoptProcess(job windows.Handle, pid uint32) error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_SUSPEND_RESUME
	h, err := windows.OpenProcess(access, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	if err := proctree.JoinServers(h); err != nil {
		return err
	}
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		return err
	}
	if status, _, _ := ntResumeProcess.Call(uintptr(h)); status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

// noteDescendants has no purpose here: no one leaves a job.
func (g *group) noteDescendants() {}

// askToEnd asks as politely as Windows can: a console event to the group.
func (g *group) askToEnd() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.pid))
}

func (g *group) killAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// killAtOnce works like killAll: a job ends as one.
func (g *group) killAtOnce() { g.killAll() }

// reapGroup waits for the child, then ends who is left in the job.
func (g *group) reapGroup(_ <-chan struct{}, rest func()) error {
	err := g.cmd.Wait()
	rest()
	g.killAll()
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = windows.CloseHandle(g.job)
	g.job = 0
	return err
}

func describeExit(s *os.ProcessState) string {
	return fmt.Sprintf("exited with status %d", s.ExitCode())
}
