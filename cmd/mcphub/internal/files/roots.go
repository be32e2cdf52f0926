package files

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/internal/worker"
)

// keeper keeps the boundary of one client. The goroutine in run asks the client
// and is the only writer of cur after the start.
//
// Every reason to ask (the handshake, a list_changed) is one more wanted; a
// query answers all that were wanted when it was sent. A call waits until what
// was wanted at its arrival is answered, so it never sees directories that were
// withdrawn before it. A query that fails answers too, by keeping cur.
type keeper struct {
	timeout time.Duration // of one query
	log     zerolog.Logger
	wake    chan struct{} // capacity 1
	ready   chan struct{} // closed when notifications/initialized was seen

	mu       sync.Mutex
	cur      *bounds
	known    bool // the handshake was made; before that nothing is allowed
	client   string
	declared bool
	started  bool // ready is closed
	late     bool // a query gave up waiting for ready: ask when it comes
	wanted   uint64
	answered uint64
	changed  chan struct{} // closed and replaced when answered grows
	lastErr  string        // why the last query failed; "" if it did not
}

func newKeeper(dirs *bounds, timeout time.Duration, log zerolog.Logger) *keeper {
	return &keeper{
		timeout: timeout, log: log, cur: dirs,
		wake: make(chan struct{}, 1), ready: make(chan struct{}), changed: make(chan struct{}),
	}
}

// noteHandshake records what the client calls itself and declared at initialize.
// Only the first handshake counts.
func (k *keeper) noteHandshake(client string, declaresRoots bool) {
	k.mu.Lock()
	first := !k.known
	if first {
		k.known, k.client, k.declared = true, printable.Clip(client, 100), declaresRoots
	}
	k.mu.Unlock()
	if first && declaresRoots {
		k.wantQuery()
	}
}

// noteInitialized is called when the client's notifications/initialized came: from
// then on it may be asked.
func (k *keeper) noteInitialized() {
	k.mu.Lock()
	if !k.started {
		k.started = true
		close(k.ready)
	}
	late := k.late
	k.late = false
	k.mu.Unlock()
	if late {
		k.wantQuery()
	}
}

// wantQuery makes run ask again. It never blocks.
func (k *keeper) wantQuery() {
	k.mu.Lock()
	if k.declared {
		k.wanted++
	}
	k.mu.Unlock()
	worker.Signal(k.wake)
}

// awaitBounds returns the boundary for a call that arrives now, once all that was due
// is answered. It fails when the client has not made the handshake, and when no
// answer comes within the time two queries may take.
func (k *keeper) awaitBounds(ctx context.Context) (*bounds, string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*k.timeout+time.Second)
	defer cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.known {
		return nil, "", errors.New("no directory is allowed yet: send initialize first")
	}
	for due := k.wanted; k.answered < due; {
		changed := k.changed
		k.mu.Unlock()
		select {
		case <-changed:
			k.mu.Lock()
		case <-ctx.Done():
			k.mu.Lock()
			return nil, "", errors.New("the allowed directories are not known: the client has not answered roots/list; try again")
		}
	}
	cur := k.cur
	if len(cur.dirs) == 0 && cur.origin == "" {
		why := *cur
		why.origin = k.withoutReason()
		cur = &why
	}
	return cur, k.lastErr, nil
}

// withoutReason returns why there are neither roots nor directories of the command
// line, and what helps. The caller holds mu.
func (k *keeper) withoutReason() string {
	const cure = "name a directory on the command line (mcphub files DIR)"
	if k.declared {
		return fmt.Sprintf("the client %q did not give its roots (%s); call again, or %s", k.client, k.lastErr, cure)
	}
	return fmt.Sprintf("the client %q gives no roots; %s", k.client, cure)
}

// An asker sends a request to the client: a [jsonrpc.Conn].
type asker interface {
	Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error)
}

// runQueries asks whenever something is wanted, one query at a time, until ctx ends.
func (k *keeper) runQueries(ctx context.Context, client asker) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		}
		k.mu.Lock()
		due := k.wanted
		open := k.answered < due
		k.mu.Unlock()
		if !open {
			continue
		}
		next, err := k.queryRoots(ctx, client)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			k.log.Warn().Err(err).Msg("the client's roots could not be read: the directories stay as they were")
		} else {
			for _, s := range next.skipped {
				k.log.Warn().Str("root", s.Root).Str("reason", s.Reason).Msg("root skipped")
			}
			k.log.Info().Strs("directories", next.allowedPaths()).Msg("the client's roots apply")
		}
		k.settleQuery(due, next, err)
	}
}

func (k *keeper) settleQuery(due uint64, next *bounds, err error) {
	k.mu.Lock()
	k.lastErr = ""
	if err != nil {
		k.lastErr = err.Error()
	} else {
		k.cur = next
	}
	k.answered = due
	close(k.changed)
	k.changed = make(chan struct{})
	notReady := errors.Is(err, errNotReady)
	again := notReady && k.started // it came while the query gave up
	k.late = notReady && !k.started
	k.mu.Unlock()
	if again {
		k.wantQuery()
	}
}

var errNotReady = errors.New("the client has not sent notifications/initialized in time")

func (k *keeper) queryRoots(ctx context.Context, client asker) (*bounds, error) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	select {
	case <-k.ready:
	case <-ctx.Done():
		return nil, errNotReady
	}
	answer, err := client.Call(ctx, methods.ListRoots)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("no answer to roots/list within %v", k.timeout)
	}
	if err != nil {
		return nil, err
	}
	if err := answer.Err(); err != nil {
		return nil, fmt.Errorf("the client answered with an error: %s", printable.Clip(err.Error(), 500))
	}
	entries, bad, note, err := parseRoots(answer.Result)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	name := k.client
	k.mu.Unlock()
	origin := fmt.Sprintf("the client %q gave an empty list of roots; open a folder there", name)
	switch {
	case len(entries)+len(bad) > 0:
		origin = fmt.Sprintf("none of the roots that the client %q gave can be used", name)
	case note != "":
		origin = note
	}
	b := newBounds(origin, entries)
	b.skipped = append(b.skipped, bad...)
	return b, nil
}

// parseRoots reads a roots/list result. An entry without a file: URI is skipped on
// its own; a result without a list, or with entries of which none has a URI, is
// malformed. note is what a hub in front says about an empty list.
func parseRoots(raw []byte) (entries []asked, bad []skipped, note string, err error) {
	var result struct {
		Roots *[]jsontext.Value `json:"roots"`
		Meta  jsontext.Value    `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &result); err != nil || result.Roots == nil {
		return nil, nil, "", errors.New("the answer to roots/list holds no list of roots")
	}
	var meta struct {
		Note string `json:"mcphub/roots"`
	}
	_ = json.Unmarshal(result.Meta, &meta) // it may hold anything
	for _, v := range *result.Roots {
		var r struct {
			URI *string `json:"uri"`
		}
		switch err := json.Unmarshal(v, &r); {
		case err != nil || r.URI == nil:
			bad = append(bad, skipped{printable.Clip(string(v), 200), "it has no uri"})
		default:
			entries = append(entries, asked{raw: *r.URI, uri: true})
		}
	}
	if len(entries) == 0 && len(bad) > 0 {
		return nil, nil, "", fmt.Errorf("none of the %d entries of the answer to roots/list has a uri", len(bad))
	}
	return entries, bad, printable.Clip(printable.Clean(meta.Note), 1000), nil
}
