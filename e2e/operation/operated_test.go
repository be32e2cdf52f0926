package e2e

import (
	"bytes"
	"os/exec"

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
	p.w.sockets = socketsIn(p.w.t)
	p.env = p.w.env()
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
