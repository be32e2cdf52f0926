package process

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/internal/worker"
)

// RunForOutput runs a program that ends by itself, such as one that prints its version,
// and gives what it writes to stdout, at most that many bytes of it. It is ended with ctx, and all that it has
// started with it.
func RunForOutput(ctx context.Context, l launch.Launch, most int64, log zerolog.Logger) (string, error) {
	p, err := startProcess(l, log)
	if err != nil {
		return "", err
	}
	_ = p.stdin.Close()
	stop := context.AfterFunc(ctx, p.group.killAll)
	defer stop()
	text, err := io.ReadAll(io.LimitReader(p.stdout, most))
	_ = p.stdout.Close()
	<-p.ended
	p.closePipes()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	}
	return string(text), p.exitError()
}

// Run runs what l says to its end, with nothing to read on its stdin. It returns the
// last of what it wrote, on stdout and then on stderr. When ctx ends the program is
// stopped, with all that it has started, within stop.
func Run(ctx context.Context, l launch.Launch, stop time.Duration, log zerolog.Logger) (said string, err error) {
	p, err := startProcess(l, log)
	if err != nil {
		return "", err
	}
	_ = p.stdin.Close()
	out, read := newTail(log, l.OnStderr), make(chan struct{})
	out.pid = p.pid
	go func() {
		defer close(read)
		out.readFrom(p.stdout)
	}()
	select {
	case <-p.ended:
		err = p.exitError()
	case <-ctx.Done():
		if err = p.stopWithin(stop); err == nil {
			err = context.Cause(ctx)
		}
	}
	worker.Within(read, drainGrace)
	p.drainStderr()
	<-read
	return strings.TrimSpace(out.String() + "\n" + p.tail.String()), err
}
