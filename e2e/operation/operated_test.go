package operation

import (
	"bytes"
	"os/exec"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
)

// operated is a hub with a client that gives no roots, and someone who uses the command line beside it.
type operated struct {
	w    *world.World
	s    *world.Session
	env  []string
	path string // of its hub.json
}

// serve starts the hub.
func (p *operated) serve(config obj) {
	p.w.T.Helper()
	p.env = p.w.Env()
	p.path = p.w.Write("conf/hub.json", world.Raw(p.w.T, config))
	p.s = p.w.Start(ide.Options{Command: world.Hub(p.w.T), Args: []string{"serve", "--config", p.path}, Env: p.env})
	p.s.Handshake()
}

// run runs a command of the program and gives its exit status.
func (p *operated) run(args ...string) (status int, stdout, stderr string) {
	p.w.T.Helper()
	cmd := exec.Command(world.Hub(p.w.T), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.w.Home, &out, &errs
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		world.Must(p.w.T, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
