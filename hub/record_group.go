package hub

import (
	"fmt"
	"runtime/debug"

	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
)

// A recordGroup is the audit group of a session: calls that wait for nothing but
// their line. What is sent once that is written leaves together.
type recordGroup struct {
	audit.Group
	batch jsonrpc.Batch // of who writes
}

func (g *recordGroup) init(s *Session) {
	g.To, g.Session = s.hub.now().cfg.Audit.To, s.id
	g.Together = func(tell func()) { g.batch.Together(func(*jsonrpc.Batch) { tell() }) }
	g.Panicked = func(p any) {
		s.log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("recording calls panicked")
	}
}

// Leave has those recorded who came in one read of a client.
func (g *recordGroup) Leave(*jsonrpc.Batch) { g.Flush() }

// forbids says why nothing may be sent, where err is why it was not recorded; nil:
// it may, for the record is not required.
func (a *Audit) forbids(err error) error {
	switch {
	case err == audit.ErrGroup:
		return err
	case err != nil && a.Required:
		return &unrecordedError{err}
	}
	return nil
}
