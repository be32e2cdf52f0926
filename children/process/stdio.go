package process

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/internal/worker"
)

// errHungUp is the reason of a stop when the child closed its stdout and
// lives on.
var errHungUp = errors.New("closed its output")

// stdioConnection is a process and the connection over its pipes.
type stdioConnection struct {
	process *process
	conn    *jsonrpc.Conn
	stop    time.Duration
	log     zerolog.Logger
}

// PipeOptions bound a process and what it says.
type PipeOptions struct {
	FrameLimit  int           // bytes of one line
	IDLimit     int           // bytes of the id of a request
	StopTimeout time.Duration // of the whole stop ladder
}

// Start starts what l says, as a child that speaks on stdin and stdout. h serves what
// it sends, not before Run, which the caller must call.
func Start(l launch.Launch, o PipeOptions, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	p, err := startProcess(l, log)
	if err != nil {
		return nil, err
	}
	return newStdioConnection(p, o, h, log), nil
}

func newStdioConnection(p *process, o PipeOptions, h jsonrpc.Handler, log zerolog.Logger) *stdioConnection {
	skipLog := bucket{tokens: 10}
	conn := jsonrpc.NewConn(p.stdout, p.stdin, h, jsonrpc.ConnOptions{
		FrameLimit: o.FrameLimit, IDLimit: o.IDLimit,
		OnSkip: func(reason string, line []byte) { // on the read loop: one caller at a time
			if skipLog.takeToken(time.Now()) {
				log.Warn().Str("reason", reason).Str("line", printable.Escape(string(line[:min(len(line), 120)]), 120)).Msg("a line on stdout was skipped")
			}
		},
		Batches: func() bool { return true }, // a sloppy child's answers are better read than lost
		Log:     log,
	})
	return &stdioConnection{process: p, conn: conn, stop: o.StopTimeout, log: log}
}

// Prepare prepares a request that is sent without waiting.
func (conn *stdioConnection) Prepare(s *jsonrpc.PreparedCall, handler jsonrpc.ResponseHandler) {
	conn.conn.Prepare(s, handler)
}

// Run serves the pipes until the process has ended, and sees to it that it does.
func (conn *stdioConnection) Run(ctx context.Context) error {
	connCtx, endConn := context.WithCancelCause(context.Background())
	defer endConn(nil)
	go func() {
		_ = conn.conn.Run(connCtx)
	}()
	var stuck error
	asked := false
	select {
	case <-ctx.Done():
		asked = true
		stuck = conn.process.stopWithin(conn.stop)
	case <-conn.process.ended:
	case <-conn.conn.Done():
		// Its output has ended: mostly because it is just ending itself.
		if !conn.process.endedWithin(drainGrace) {
			stuck = conn.process.stopWithin(conn.stop)
			if stuck == nil && conn.process.exitError() == nil {
				stuck = errHungUp
			}
		}
	}
	conn.drainOutput()
	endConn(nil)
	<-conn.conn.Done()
	conn.process.drainStderr()
	switch {
	case stuck != nil && !errors.Is(stuck, errHungUp):
		conn.log.Error().Err(stuck).Int("pid", conn.process.pid).Msg("a child did not stop")
		return stuck
	case asked:
		return nil
	case stuck != nil:
		return stuck
	}
	if err := conn.process.exitError(); err != nil {
		return err
	}
	return &ExitError{Text: "exited with status 0"}
}

// drainOutput lets output that is in the pipe already be read.
func (conn *stdioConnection) drainOutput() { worker.Within(conn.conn.Done(), drainGrace) }

func (conn *stdioConnection) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	res, err := conn.conn.Call(ctx, method, params...)
	return res, link.Closed(ctx, err)
}

func (conn *stdioConnection) Notify(ctx context.Context, method string, params ...[]byte) error {
	return link.Closed(ctx, conn.conn.Notify(ctx, method, params...))
}

func (conn *stdioConnection) Facts() link.ConnectionFacts {
	st := conn.conn.Stats()
	return link.ConnectionFacts{PID: conn.process.pid, Stderr: conn.process.tail.String(), Skipped: st.Skipped, TextIDs: st.TextIDs, Heard: st.Heard, Bounds: conn.process.group.bounds.reportBounds()}
}
