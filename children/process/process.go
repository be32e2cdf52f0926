package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/sandbox"
	"mcphub/internal/worker"
)

const (
	// drainGrace is how long output that is already in the pipes may still be
	// read after the process has ended. Only someone who inherited a pipe and
	// is out of reach can keep it open so long.
	drainGrace = 250 * time.Millisecond
	// restGrace is how long those whom a child leaves behind have between TERM
	// and KILL.
	restGrace = 300 * time.Millisecond
	// reapGrace is how long after KILL the kernel may take to end a process.
	reapGrace = 2 * time.Second
)

// A process is one running child: its pipes, its stderr and its end. It is
// started and waited for by one goroutine of its own; another one forks it and, on
// Linux, keeps the thread that did (see forkChild).
type process struct {
	stdin  *os.File // writing end, non-blocking
	stdout *os.File // reading end, non-blocking
	stderr *os.File
	tail   *tail
	group  group
	pid    int

	ended      chan struct{} // closed once the process has been reaped
	waitErr    error
	stderrDone chan struct{}          // closed once stderr has been read to its end
	beyond     atomic.Pointer[string] // what it took beyond its limits, for which it was ended
	rootsFile  string
	closeOnce  sync.Once
}

// startProcess starts what l says. It returns once the program runs, or has
// failed to start.
func startProcess(l launch.Launch, log zerolog.Logger) (_ *process, err error) {
	p := &process{tail: newTail(log, l.OnStderr), ended: make(chan struct{}), stderrDone: make(chan struct{})}
	defer func() {
		if err != nil {
			p.closePipes()
			p.removeRootsFile()
		}
	}()
	cmd := &exec.Cmd{Path: l.Command, Args: append([]string{l.Command}, l.Args...), Env: l.Env, Dir: l.Dir}
	if l.StartDir != "" {
		cmd.Dir = l.StartDir
	}
	if l.RootsFile != nil {
		name, err := writeRootsFile(l)
		if err != nil {
			return nil, fmt.Errorf("the file for MCP_ROOTS_FILE could not be written: %w", err)
		}
		p.rootsFile = name
		cmd.Env = append(append([]string(nil), l.Env...), "MCP_ROOTS_FILE="+name)
	}
	theirs, err := p.openPipes()
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
	}()
	if err != nil {
		return nil, fmt.Errorf("no pipes for the child: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	p.group.bounds = newBounds(l)
	box, err := makeRuleset(l, p.group.bounds.isGrouped())
	if err != nil {
		p.group.bounds.removeGroup(log)
		return nil, fmt.Errorf("could not be confined: %w", err)
	}
	started := make(chan error, 1)
	go p.runUntilExit(cmd, box, started, log)
	if err = <-started; err != nil {
		if path, ok := errors.AsType[*os.PathError](err); ok {
			err = fmt.Errorf("%s: %w", path.Path, path.Err)
		}
		return nil, fmt.Errorf("could not be started: %w", err)
	}
	p.tail.pid = p.pid
	go func() {
		defer close(p.stderrDone)
		p.tail.readFrom(p.stderr)
	}()
	if l.Limits != (program.Limits{}) || p.group.bounds.isGrouped() {
		go p.watchLimits()
	}
	return p, nil
}

// openPipes opens the three pipes and returns the child's ends. If it fails, some are open.
func (p *process) openPipes() (theirs [3]*os.File, err error) {
	pair := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	theirs[0], p.stdin = pair()
	p.stdout, theirs[1] = pair()
	p.stderr, theirs[2] = pair()
	return theirs, err
}

// makeRuleset returns what the kernel is to hold a child to, or to record of it; nil if that
// is nothing. grouped: it starts in a control group.
func makeRuleset(l launch.Launch, grouped bool) (*sandbox.Ruleset, error) {
	c := l.Sandbox
	switch {
	case c == nil || c.Profile == nil:
		return nil, nil
	case l.Record != nil:
		if err := c.WritePrivate(); err != nil {
			return nil, err
		}
		if !l.Record.Free {
			if err := c.Make(); err != nil {
				return nil, err
			}
		}
		return l.Record.Ruleset(c.Kernel, c.Profile)
	}
	if err := c.Make(); err != nil {
		return nil, err
	}
	return sandbox.Prepare(c.Kernel, c.Profile, grouped)
}

// runUntilExit has the process started and waits for it.
func (p *process) runUntilExit(cmd *exec.Cmd, box *sandbox.Ruleset, started chan<- error, log zerolog.Logger) {
	var exited <-chan struct{}
	err := p.group.startLeader(cmd, func() (err error) { exited, err = forkChild(cmd, box, &p.group.bounds); return err })
	box.Close()
	defer box.End()
	if err != nil {
		p.group.bounds.removeGroup(log)
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	p.waitErr = p.group.reapGroup(exited, p.awaitStderrEnd)
	box.End()
	if what := p.group.exceededLimit(); what != "" {
		p.beyond.CompareAndSwap(nil, &what)
	}
	p.removeRootsFile()
	p.group.bounds.removeGroup(log)
	close(p.ended)
}

// awaitStderrEnd gives those whom the child leaves behind in its group a moment to
// let go of stderr, which reports that they have ended.
func (p *process) awaitStderrEnd() { worker.Within(p.stderrDone, restGrace) }

// exitError returns how the process ended; nil for status 0. Valid after ended.
func (p *process) exitError() error {
	var ee *exec.ExitError
	switch what := p.beyond.Load(); {
	case what != nil:
		return &ExitError{Text: "was ended: " + *what, Code: -1}
	case p.waitErr == nil:
		return nil
	case errors.As(p.waitErr, &ee):
		return &ExitError{Text: describeExit(ee.ProcessState), Code: ee.ExitCode()}
	}
	return p.waitErr
}

// An ExitError describes how a child's process ended.
type ExitError struct {
	Text string // "exited with status 3", "was killed by signal 9 (killed)"
	Code int    // -1 if a signal ended it, or its limits
}

func (e *ExitError) Error() string { return e.Text }

// stopWithin ends the process, its group and, on Linux and Windows, who else
// descends from it within the given time: close stdin, TERM, KILL. It returns when the process has been reaped, or with an error
// when the kernel does not let go of it.
func (p *process) stopWithin(all time.Duration) error {
	p.group.noteDescendants()
	_ = p.stdin.Close()
	if p.endedWithin(all * 2 / 5) {
		return nil
	}
	p.group.askToEnd()
	if p.endedWithin(all * 2 / 5) {
		return nil
	}
	p.group.killAll()
	if p.endedWithin(all/5 + reapGrace) {
		return nil
	}
	return fmt.Errorf("process %d did not end, not even by KILL: it is stuck in the kernel", p.pid)
}

func (p *process) endedWithin(d time.Duration) bool { return worker.Within(p.ended, d) }

// drainStderr waits a moment for the last words, then lets go of the pipe.
func (p *process) drainStderr() {
	worker.Within(p.stderrDone, drainGrace)
	p.closePipes()
	<-p.stderrDone
}

func (p *process) closePipes() {
	p.closeOnce.Do(func() {
		for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
			_ = f.Close()
		}
	})
}

func (p *process) removeRootsFile() {
	if p.rootsFile != "" {
		_ = os.Remove(p.rootsFile)
	}
}

// writeRootsFile writes a file that only the hub's own user can read.
func writeRootsFile(l launch.Launch) (name string, err error) {
	dir := ""
	if l.Sandbox != nil {
		dir = l.Sandbox.Temp
	}
	f, err := os.CreateTemp(dir, "mcphub-roots-*.json") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(l.RootsFile)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
