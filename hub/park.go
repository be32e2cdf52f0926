package hub

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr"
)

// This file lets the work on a modern request wait for what its client is
// asked: the client is answered with the questions, and the work goes on when
// the same request comes again with the answers (2026-07-28,
// basic/patterns/mrtr).

const (
	// gatherTime is how long a request that has been asked something waits for
	// more of it: several questions go in one answer.
	gatherTime = 10 * time.Millisecond
	// mostParked bounds the requests of one session that wait for their client;
	// beyond that the oldest is given up. Less than a child may ask at a time: a new call finds
	// room, whatever became of old ones.
	mostParked = 32
	// mostParkedInAll bounds those of all sessions together.
	mostParkedInAll = 1024
	// mostParkedBytes bounds what the parked requests of one session, and what
	// they were asked, hold together.
	mostParkedBytes = 16 << 20
)

var (
	errNotAsked   = errors.New("a client of this era can be asked only while a call of a tool, a prompt or a resource of it is being answered")
	errAbandoned  = errors.New("the client was asked for something that it never answered")
	errParleyOver = errors.New("the request is over")
	errFull       = errors.New("too many requests wait for what their clients were asked")
	errLeft       = errors.New("the session has ended")
	errGaveWay    = errors.New("its client had not answered what it was asked, and calls of the same token wait for the server with other roots")
)

// An outlet is what a transport lets the hub say on account of one modern
// request before its answer: over stdio the connection, over HTTP the response
// of that request. It may be used by any number of goroutines, and says nothing
// any more, without an error, once the request was answered.
type outlet interface {
	Notify(ctx context.Context, method string, params ...[]byte) error
	TryNotify(method string, params ...[]byte) bool
	TrySpare(method string, params ...[]byte) bool
}

// A round is one request of a modern client: the first one, or a retry.
type round struct {
	meta requestMeta
	out  outlet
}

// A parley is the work on one modern request, over all its rounds. It is the
// peer of whatever the work causes: what the client is told goes out with the
// round under way, what it is asked waits for the next.
type parley struct {
	s       *Session
	subject []byte // that a requestState is bound to; made when first needed
	request *jsonrpc.Message
	token   []byte         // the progress token that the work knows, raw
	asks    bool           // this kind of request can be answered with a question
	given   supplied       // what came with the request
	judged  *rootsmgr.View // that the request is judged by; belongs to the work
	unsure  bool           // likewise: what looks like a path may be none
	looked  bool           // likewise: it was judged as if nothing were open
	held    int            // bytes while parked; set before that
	cancel  context.CancelCauseFunc
	done    chan jsonrpc.Answer // of the work; capacity 1
	asked   chan struct{}       // there are questions; capacity 1

	mu  sync.Mutex
	tab parleyTables
}

// parleyTables is what parley.mu guards.
type parleyTables struct {
	at     *round // nil while the client is not there: parked, or over
	open   []*inquiry
	keys   int  // given so far
	turn   turn // set by the work, and by a search while that is with a child
	left   bool // the client does not come again
	over   bool // the work has ended
	typed  bool // what it ended with says of itself what it is, and may
	roots  bool // it ended because the client has to say first what its roots are
	sought *search
}

// An inquiry is one thing that the client is asked.
type inquiry struct {
	key    string
	method string
	params []byte
	answer chan *jsonrpc.Response // capacity 1
}

// parleyOf returns the parley that the context belongs to, for requests that only
// this era has.
func parleyOf(ctx context.Context) *parley {
	p, _ := ctx.Value(clientKey{}).(*parley)
	return p
}

var _ client = (*parley)(nil)

func (p *parley) era() string         { return eraModern }
func (p *parley) claims() clientCaps  { return p.meta().caps }
func (p *parley) Lend() (back func()) { return func() {} }
func (p *parley) Reaches() bool       { return true }

// suits is false for a client that may have to be asked about roots first, or has
// headers to compare.
func (p *parley) suits(tool listedTool, lease *children.Lease) bool {
	free := !p.given.meta.caps.roots || tool.gen.byName[tool.Child].Spec.Share == children.ShareAll
	return free && len(tool.Mirrors) == 0 && (lease == nil || !lease.Modern())
}

// answer is the child's as it is: see finish.
func (p *parley) answer(_ *children.Lease, _ string, resp *jsonrpc.Response) jsonrpc.Answer {
	return resp.Answer()
}

// wants is true: see say.
func (p *parley) wants(*jsonrpc.Message) bool { return true }

// yield gives back the turn of a child: clients with other roots may want it
// meanwhile.
func (p *parley) yield() { p.leaveTurn() }

// meta is what the round under way says of its client; the first one while
// there is none.
func (p *parley) meta() requestMeta {
	if r := p.now(); r != nil {
		return r.meta
	}
	return p.given.meta
}

func (p *parley) now() *round {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tab.at
}

// say picks the way of a notification. Only what belongs to a request may go
// out with it: its progress, by the token of the round, and the log as far as
// the round asked for it.
func (p *parley) say(method string, params [][]byte) (outlet, [][]byte) {
	r := p.now()
	if r == nil {
		return nil, nil
	}
	switch method {
	case "notifications/progress":
		if r.meta.token == nil {
			return nil, nil
		}
		if string(r.meta.token) != string(p.token) {
			whole := join(params)
			params = splice(whole, edit{Old: jsonrpc.Get(whole, "progressToken"), With: r.meta.token})
		}
	case "notifications/message":
		level, ok := levelOf(jsonrpc.Get(join(params), "level"))
		if r.meta.level == 0 || ok && level < r.meta.level {
			return nil, nil
		}
	default:
		return nil, nil
	}
	return r.out, params
}

// Notify tells the client with the round under way; what it is not to be told
// is dropped.
func (p *parley) Notify(ctx context.Context, method string, params ...[]byte) error {
	if out, params := p.say(method, params); out != nil {
		return out.Notify(ctx, method, params...)
	}
	return nil
}

// TryNotify is Notify that never blocks.
func (p *parley) TryNotify(method string, params ...[]byte) bool {
	out, params := p.say(method, params)
	return out == nil || out.TryNotify(method, params...)
}

// TrySpare is TryNotify that leaves room to others.
func (p *parley) TrySpare(method string, params ...[]byte) bool {
	out, params := p.say(method, params)
	return out == nil || out.TrySpare(method, params...)
}

// Call asks the client, in place of the answer to its request, and waits until
// it comes again with the answer.
func (p *parley) Call(ctx context.Context, method string, params ...[]byte) (*jsonrpc.Response, error) {
	if !p.asks || method != methodSample && method != methodElicit {
		return nil, errNotAsked
	}
	return p.put(ctx, &inquiry{method: method, params: modernInquiry(method, join(params))})
}

// put asks a question, whose key it makes where there is none.
func (p *parley) put(ctx context.Context, q *inquiry) (*jsonrpc.Response, error) {
	q.answer = make(chan *jsonrpc.Response, 1)
	p.mu.Lock()
	if p.tab.over {
		p.mu.Unlock()
		return nil, errParleyOver
	}
	if q.key == "" {
		p.tab.keys++
		q.key = "mcphub-" + strconv.Itoa(p.tab.keys)
	}
	p.tab.open = append(p.tab.open, q)
	p.mu.Unlock()
	poke(p.asked)
	select {
	case r := <-q.answer:
		if r == nil {
			return nil, errParleyOver
		}
		return r, nil
	case <-ctx.Done():
		p.withdraw(q)
		return nil, context.Cause(ctx)
	}
}

// withdraw takes back a question that nobody waits for any more.
func (p *parley) withdraw(q *inquiry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, o := range p.tab.open {
		if o == q {
			p.tab.open = append(p.tab.open[:i:i], p.tab.open[i+1:]...)
			return
		}
	}
}

// modernInquiry is what a child of the other era asks as this one may: without
// a token for progress, which no client can report any more, and without the
// id of an elicitation, which has gone.
func modernInquiry(method string, params []byte) []byte {
	if !isObject(params) {
		return []byte(`{}`)
	}
	b := []byte{'{'}
	_ = jsonrpc.Members(params, func(name string, value []byte) bool {
		switch name {
		case "elicitationId":
			if method == methodElicit {
				return true
			}
		case "_meta":
			if value = without(value, "progressToken"); value == nil {
				return true
			}
		}
		b = jsonrpc.AppendMember(b, name, value)
		return true
	})
	return append(b, '}')
}

// work runs the core on a goroutine of its own, which outlives the round.
func (p *parley) work(serve func() jsonrpc.Answer) bool {
	return p.s.modern.lot.enter(p, func() {
		a := p.s.answer(p.request, serve) // here nobody below guards it
		p.s.modern.lot.grew(p, len(a.Result)+len(a.Error))
		p.mu.Lock()
		p.tab.over = true
		open, sought := p.tab.open, p.tab.sought
		p.tab.open = nil
		p.mu.Unlock()
		for _, q := range open {
			close(q.answer)
		}
		sought.stop()
		p.leaveTurn()
		p.deliver(a)
	})
}

// attend waits with the client of a round for what becomes of its request:
// the answer, or what it is asked first.
func (p *parley) attend(ctx context.Context) jsonrpc.Answer {
	for {
		select {
		case a := <-p.done:
			p.cancel(nil)
			return p.finish(a)
		case <-p.asked:
			p.gather(ctx)
			if a, ok := p.park(); ok {
				return a
			}
		case <-ctx.Done():
			p.leave()
			p.cancel(context.Cause(ctx))
			discard(<-p.done)
			return gone(ctx, nil)
		}
	}
}

// leave ends the round under way: nothing is said on it any more.
func (p *parley) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tab.at = nil
}

// gather waits for more questions, but not long.
func (p *parley) gather(ctx context.Context) {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// finish gives the answer of the work the shape of the era.
func (p *parley) finish(a jsonrpc.Answer) jsonrpc.Answer {
	p.mu.Lock()
	typed, roots := p.tab.typed, p.tab.roots
	p.tab.at = nil
	p.mu.Unlock()
	if roots {
		discard(a)
		return p.askRoots()
	}
	var keep *caching
	if p.request.Method == "resources/read" && !typed {
		keep = &caching{}
	}
	return p.s.hub.modernResult(a, keep, typed)
}

// park answers the round with the questions that are open. false: there are
// none any more, or the work has ended.
func (p *parley) park() (jsonrpc.Answer, bool) {
	p.mu.Lock()
	if p.tab.over || p.tab.at == nil {
		p.mu.Unlock()
		return jsonrpc.Answer{}, false
	}
	able := &p.tab.at.meta.caps.can
	var open []*inquiry
	for _, q := range p.tab.open {
		if q.method == methodRootsList && p.tab.at.meta.caps.roots {
			open = append(open, q)
			continue
		}
		m := &jsonrpc.Message{Method: q.method, Params: q.params}
		_ = jsonrpc.Members(q.params, func(name string, value []byte) bool {
			m.Members = append(m.Members, jsonrpc.Member{Name: name, Value: value})
			return true
		})
		if refusal, can := able.refuses(m); !can {
			q.answer <- &jsonrpc.Response{Error: refusal.Error}
			continue
		}
		open = append(open, q)
	}
	p.tab.open = open
	if len(open) == 0 {
		p.mu.Unlock()
		return jsonrpc.Answer{}, false
	}
	p.held = len(p.request.Frame)
	for _, q := range open {
		p.held += len(q.params)
	}
	id := uuid.NewString()
	p.tab.at = nil
	b := []byte(`{"resultType":"input_required","inputRequests":{`)
	for i, q := range open {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonrpc.AppendString(append(jsonrpc.AppendString(b, q.key), `:{"method":`...), q.method)
		b = append(append(append(b, `,"params":`...), q.params...), '}')
	}
	b = append(b, '}')
	p.mu.Unlock()
	state, err := p.s.sealState(p.subjectNow(), stateParked, []byte(id))
	if err == nil {
		err = p.s.modern.lot.park(id, p)
	}
	if err != nil {
		p.cancel(err)
		discard(<-p.done)
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "busy: "+err.Error()), true
	}
	b = jsonrpc.AppendString(append(b, `,"requestState":`...), state)
	return p.s.hub.modernResult(jsonrpc.ResultAnswer(append(b, '}')), nil, true), true
}

func (p *parley) subjectNow() []byte {
	if p.subject == nil {
		p.subject = p.s.subject(p.request)
	}
	return p.subject
}
