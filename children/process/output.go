package process

import (
	"context"
	"io"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
)

// mostOutput bounds what Output takes of a program.
const mostOutput = 4 << 10

// Output runs a program that ends by itself, such as one that prints its version,
// and gives what it writes to stdout. It is ended with ctx, and all that it has
// started with it.
func Output(ctx context.Context, l launch.Launch, log zerolog.Logger) (string, error) {
	p, err := startProcess(l, log)
	if err != nil {
		return "", err
	}
	_ = p.stdin.Close()
	stop := context.AfterFunc(ctx, p.group.kill)
	defer stop()
	text, err := io.ReadAll(io.LimitReader(p.stdout, mostOutput))
	_ = p.stdout.Close()
	<-p.ended
	p.closePipes()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	}
	return string(text), p.exit()
}
