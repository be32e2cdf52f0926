package run

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// levelTime bounds how long a child may take to answer logging/setLevel.
const levelTime = 2 * time.Second

// levelSetter keeps a run's log at the level that its client wants.
type levelSetter struct {
	wanted func() string // the level; "" for none
	log    zerolog.Logger
	lock   chan struct{} // holds a token while no one tells
	told   string        // belongs to who has the token
}

// tellLevel sets the level if it differs from the one that the run was told last. It reads
// the wanted level once it has the lock, so the last caller sets the newest level.
func (setter *levelSetter) tellLevel(ctx context.Context, conn link.ChildConnection, o *offers.RawOffer) {
	if !offers.DeclaresCapability(o.Capabilities, "logging") || o.IsModern() { // which is told with each request
		return
	}
	ctx, cancel := context.WithTimeout(ctx, levelTime)
	defer cancel()
	if !setter.takeLock(ctx) {
		return
	}
	defer func() { setter.lock <- struct{}{} }()
	level := setter.wanted()
	if level == "" || level == setter.told {
		return
	}
	res, err := conn.Call(ctx, methods.SetLogLevel, append(jsonrpc.AppendString([]byte(`{"level":`), level), '}'))
	if err != nil {
		setter.log.Debug().Err(err).Msg("the level of the log could not be set")
		return
	}
	setter.told = level
	if e := res.Err(); e != nil {
		setter.log.Debug().Err(e).Msg("the child refused the level of its log")
	}
	res.Release()
}

// tellAgain works like tellLevel for a child that started a new session and forgot the level.
func (setter *levelSetter) tellAgain(ctx context.Context, conn link.ChildConnection, o *offers.RawOffer) {
	if !setter.takeLock(ctx) {
		return
	}
	setter.told = ""
	setter.lock <- struct{}{}
	setter.tellLevel(ctx, conn, o)
}

func (setter *levelSetter) takeLock(ctx context.Context) bool {
	select {
	case <-setter.lock:
		return true
	case <-ctx.Done():
		return false
	}
}
