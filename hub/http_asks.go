package hub

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"mcphub/internal/jsonrpc"
)

// spare reports whether half of the session's room is free.
func (st *stream) spare() bool { return st.waiting.Load() <= streamWaiting/2 }

// TrySpare is TryNotify where half of the room of the client's own stream is
// free.
func (c *httpClient) TrySpare(method string, params ...[]byte) bool {
	return c.own.spare() && c.TryNotify(method, params...)
}

// TrySpare is TryNotify where half of the room of the stream is free.
func (x *exchange) TrySpare(method string, params ...[]byte) bool {
	if st := x.flow(); st != nil {
		return st.spare() && st.put(frameOf(nil, method, params), asNote)
	}
	return x.c.TrySpare(method, params...)
}

// awayTime is how long a client that was asked something may follow no stream:
// whoever answers has one, or comes back to go on with its stream.
const awayTime = 5 * time.Minute

var errAway = errors.New("the client has left its question without an answer, and follows no stream any more")

// connected reports whether the client follows any stream. That a request of it
// is being served tells nothing: its connection may have broken.
func (c *httpClient) connected() bool {
	c.mu.Lock()
	streams := slices.Collect(maps.Values(c.tab.streams))
	c.mu.Unlock()
	return c.own.live() || slices.ContainsFunc(streams, (*stream).live)
}

// answerTo waits for the answer to a question of the hub, as long as ctx lasts
// and the client is there.
func (c *httpClient) answerTo(ctx context.Context, answer <-chan *jsonrpc.Response) (*jsonrpc.Response, error) {
	const looks = 5
	watch := time.NewTicker(awayTime / looks)
	defer watch.Stop()
	for away := 0; ; {
		select {
		case r := <-answer:
			return r, nil
		case <-c.ctx.Done():
			return nil, errSessionOver
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-watch.C:
			if away++; c.connected() {
				away = 0
			}
			if away == looks {
				return nil, errAway
			}
		}
	}
}
