package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"

	"mcphub/e2e/ide"
)

// operated is a hub with a client that gives no roots, and somebody who uses the command line beside it.
type operated struct {
	w    *world
	s    *session
	env  []string
	path string // of its hub.json
}

// serve starts the hub.
func (p *operated) serve(config obj) {
	p.w.t.Helper()
	base := "/tmp" // paths of sockets may not be long
	if runtime.GOOS == "windows" {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "mh")
	must(p.w.t, err)
	p.w.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p.env = p.w.env("XDG_RUNTIME_DIR="+dir, "TMPDIR="+dir, "LOCALAPPDATA="+dir) // or status would show the hubs of other tests
	p.path = p.w.write("conf/hub.json", raw(p.w.t, config))
	p.s = p.w.start(ide.Options{Command: mcphub(p.w.t), Args: []string{"serve", "--config", p.path}, Env: p.env})
	p.s.initialize()
}

// run runs a command of the program and gives its exit status.
func (p *operated) run(args ...string) (status int, stdout, stderr string) {
	p.w.t.Helper()
	cmd := exec.Command(mcphub(p.w.t), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.w.home, &out, &errs
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		must(p.w.t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
