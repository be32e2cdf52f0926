package children

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
)

// Era says in which family of protocol versions a child is spoken to.
type Era uint8

const (
	// EraAuto is that of the client, or the other where the child does not have it.
	EraAuto Era = iota
	// EraLegacy is the handshake: 2024-11-05 to 2025-11-25.
	EraLegacy
	// EraModern has no handshake and no session: 2026-07-28.
	EraModern
)

func (e Era) String() string {
	switch e {
	case EraLegacy:
		return "legacy"
	case EraModern:
		return "modern"
	}
	return "auto"
}

// eraOf is the era in which an offer was made; EraAuto of none, and where the next
// start speaks to the child in the other one.
func eraOf(o *offers.Offer) Era {
	switch {
	case o == nil:
		return EraAuto
	case o.Modern(), o.Both:
		return EraModern
	}
	return EraLegacy
}

const (
	// probeWait bounds how long a child of which nothing is known may leave
	// server/discover unanswered before it is sent initialize. Some servers never
	// answer; to one that is still loading it makes no difference, for it reads
	// both when it is there.
	probeWait = 2 * time.Second
	// lagWait is for an answer that is on its way to who waits for it.
	lagWait = 20 * time.Millisecond
)

// errProbed marks the end of a child that may have died of being asked what it
// does not know.
var errProbed = errors.New("ended when it was asked which protocol it speaks")

// errOtherEra is why an instance ends that several sessions would share: the
// child does not speak the era of these clients, and they are served by the
// instance for the other one (Supervisor.Home).
var errOtherEra = errors.New("it speaks only the other era of the protocol: the instance for that serves all")

// verdict is what an answer to server/discover says of a child.
type verdict uint8

const (
	verdictLegacy  verdict = iota // anything that is not known to be of the modern era
	verdictModern                 // it serves a version that we speak
	verdictForeign                // it is modern and serves no version that we speak
	verdictGone                   // its connection has ended
)

// discovered is an answer to server/discover.
type discovered struct {
	verdict verdict
	offer   *offers.Offer // of verdictModern
	err     error         // of verdictForeign and verdictGone
}

// sortDiscovery reads an answer to server/discover (2026-07-28, basic/versioning
// and the sections on backward compatibility of both transports): what is not
// recognisably modern is legacy.
func sortDiscovery(version string, res *jsonrpc.Response, err error) discovered {
	var lost *link.LostError
	switch {
	case err != nil && (errors.Is(err, jsonrpc.ErrClosed) || errors.As(err, &lost)):
		return discovered{verdict: verdictGone, err: err}
	case err != nil:
		return discovered{}
	}
	if e := res.Err(); e != nil {
		switch e.Code {
		case mcp.UNSUPPORTED_PROTOCOL_VERSION:
			return choose(stringsIn(jsonrpc.Get(e.Data, "supported")), version, nil)
		case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY:
			return discovered{verdict: verdictForeign, err: fmt.Errorf("it is a server of the modern era that refuses server/discover: %w", e)}
		}
		return discovered{}
	}
	return choose(stringsIn(jsonrpc.Get(res.Result, "supportedVersions")), version, res.Result)
}

// choose picks what to speak with a child that serves these versions. result is
// that of server/discover, nil where it was refused.
func choose(supported []string, version string, result []byte) discovered {
	legacy := slices.ContainsFunc(supported, func(v string) bool { return slices.Contains(mcp.LegacyProtocolVersions(), v) })
	switch {
	case result != nil && slices.Contains(supported, version):
		o := &offers.Offer{Protocol: version, Capabilities: slices.Clone(jsonrpc.Get(result, "capabilities"))}
		o.Instructions, _ = jsonrpc.String(jsonrpc.Get(result, "instructions"))
		o.ServerInfo = slices.Clone(jsonrpc.Get(jsonrpc.Get(result, "_meta"), metaServerInfo))
		o.ServerName, _ = jsonrpc.String(jsonrpc.Get(o.ServerInfo, "name"))
		o.ServerVersion, _ = jsonrpc.String(jsonrpc.Get(o.ServerInfo, "version"))
		o.Private, o.Lives.Self = offers.IsPrivate(result), offers.LifeOf(result)
		return discovered{verdict: verdictModern, offer: o}
	case legacy || len(supported) == 0:
		return discovered{}
	}
	text := fmt.Sprintf("%.200q", supported)
	return discovered{verdict: verdictForeign, err: fmt.Errorf("it serves none of the protocol versions of this program, only %s", text)}
}

// stringsIn are the strings of a raw array, nil where it is none.
func stringsIn(raw []byte) []string {
	var out []string
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// greet starts to speak to a child, and does what that takes before it can be
// listed. A child that has both eras is spoken to in that of the Key: what comes
// first on a connection may settle it for good (some servers take even
// server/discover for that), so nothing of the other era comes before. A run
// that speaks to it without a handshake is marked.
func (c *child) greet(ctx context.Context, r *run) (*offers.Offer, error) {
	m := newModern(c, r)
	switch {
	case m == nil && c.spec.Era == EraModern:
		return nil, errors.New("this transport is of the handshake's era: set \"type\": \"http\", or leave \"era\" out")
	case m == nil || c.spec.Era == EraLegacy:
		return c.initialize(ctx, r)
	}
	var o *offers.Offer
	var err error
	if c.first() == EraModern {
		o, err = c.probe(ctx, r, m, c.spec.Era == EraModern || c.past.spoke == EraModern)
	} else {
		o, err = c.shake(ctx, r, m)
	}
	if err != nil && errors.Is(err, jsonrpc.ErrClosed) && c.spec.Era == EraAuto {
		return nil, errors.Join(errProbed, err)
	}
	return o, err
}

// first is the era that a child is tried in first: that which it is told to have,
// or had when it was started for the same clients before, else that of the clients;
// but not one whose first question it has died of.
func (c *child) first() Era {
	era := c.key.Era
	switch {
	case c.spec.Era != EraAuto:
		era = c.spec.Era
	case c.past.diedOf != EraAuto:
		era = c.past.diedOf.other()
	case c.past.spoke != EraAuto:
		era = c.past.spoke
	}
	if era == EraModern {
		return EraModern
	}
	return EraLegacy
}

// other is the other one of the two eras.
func (e Era) other() Era {
	if e == EraModern {
		return EraLegacy
	}
	return EraModern
}

// shake does the handshake, and does without where that is refused.
func (c *child) shake(ctx context.Context, r *run, m *modern) (*offers.Offer, error) {
	o, err := c.initialize(ctx, r)
	if err == nil || ctx.Err() != nil || errors.Is(err, jsonrpc.ErrClosed) {
		return o, err
	}
	switch d := m.discover(ctx); d.verdict {
	case verdictModern:
		return c.speakModern(r, m, d.offer), nil
	case verdictForeign:
		return nil, errors.Join(err, d.err)
	}
	return nil, err
}

// home tells the Key of the instance that serves the clients of k.
func (n *common) home(s Spec, k Key) Key {
	if s.Era == EraAuto && s.Share != ShareSession && n.lacks(s, k) && !n.lacks(s, k.other()) {
		return k.other()
	}
	return k
}

// lacks reports whether a child is known not to speak the era of a Key.
func (n *common) lacks(s Spec, k Key) bool {
	o := n.known(s, k)
	return o != nil && !o.Both && o.Modern() != (k.Era == EraModern)
}

// Home returns the Key of the instance that serves those who would be served by
// k: k itself, but where an instance is shared and the child is known to have
// only the other era, that of the other one.
func (s *Supervisor) Home(k Key) Key {
	s.mu.Lock()
	spec, ok := s.specs[k.Child]
	s.mu.Unlock()
	if !ok {
		return k
	}
	return s.common.home(spec, k)
}

// yield ends an instance whose clients another one serves. Its Key is free then:
// a child that has changed is asked anew.
func (c *child) yield(r *run) {
	c.common.giveUp(c)
	c.retire(errOtherEra)
	c.keep()
	c.end(r, errOtherEra.Error())
}

// probe asks for server/discover and falls back to the handshake where that
// gives nothing: at once, or after a while where there is no answer. patient
// waits for as long as a start may take.
func (c *child) probe(ctx context.Context, r *run, m *modern, patient bool) (*offers.Offer, error) {
	asked := make(chan discovered, 1)
	// It is not taken back when the wait is over: a child that cannot answer it
	// would not know what it is that is being cancelled.
	go func() { asked <- m.discover(context.WithoutCancel(ctx)) }()
	var late <-chan time.Time
	if !patient {
		t := time.NewTimer(probeWait)
		defer t.Stop()
		late = t.C
	}
	select {
	case d := <-asked:
		switch d.verdict {
		case verdictModern:
			return c.speakModern(r, m, d.offer), nil
		case verdictForeign, verdictGone:
			return nil, d.err
		}
		if c.spec.Era == EraModern {
			return nil, errors.New("it does not speak a protocol version without a handshake; leave \"era\" out, or set it to \"auto\"")
		}
		return c.initialize(ctx, r)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-late:
	}
	o, err := c.initialize(ctx, r)
	if ctx.Err() != nil || errors.Is(err, jsonrpc.ErrClosed) {
		return nil, err
	}
	wait := probeWait
	if err == nil {
		wait = lagWait // it has answered both by now, if it read both only now
	}
	again := time.NewTimer(wait)
	defer again.Stop()
	select {
	case d := <-asked: // it was only slow
		switch {
		case d.verdict == verdictModern && err == nil:
			o.Both = true // some take the handshake for a choice that lasts; the next start makes the other
		case d.verdict == verdictModern:
			return c.speakModern(r, m, d.offer), nil
		}
	case <-again.C:
	case <-ctx.Done():
	}
	return o, err
}

func (c *child) initialize(ctx context.Context, r *run) (*offers.Offer, error) {
	return handshake(ctx, r.link, c.common.version, shown(c.spec, c.common.client(c.key)))
}

// speakModern marks a run as one without a handshake.
func (c *child) speakModern(r *run, m *modern, o *offers.Offer) *offers.Offer {
	r.modern.Store(m) // first: begin opens a stream, and what comes on it is for m
	m.start(o)
	return o
}
