package children

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
)

// An Offer is what a child offers: immutable, raw, in the child's order.
type Offer struct {
	ServerName    string
	ServerVersion string
	Protocol      string   // the version agreed on
	Instructions  string   //
	Capabilities  []byte   // raw object, nil when the child sent none
	ServerInfo    []byte   // raw object
	Tools         [][]byte // raw entries of tools/list, all pages
	Prompts       [][]byte // of prompts/list
	Resources     [][]byte // of resources/list
	Templates     [][]byte // of resources/templates/list

	// Fresh is how long the lists may be kept by what the child said (ttlMs); 0
	// where it said nothing of use. Private: it said that they are not for others
	// than whom they were listed for (cacheScope).
	Fresh   time.Duration
	Private bool

	// Both: it was greeted by a handshake because it was slow, and can do without.
	Both bool

	// cut are the lists that were not had whole for a reason that the child did not
	// give itself: it ended, or was too slow. Bits by their place in lists. Such an
	// offer is good for this run, and is not remembered.
	cut uint32

	lives Lives // as they were read in this run
}

// A Life is how long something may be kept, and by whom, by what the child said of
// it.
type Life struct {
	Told   bool          // it said for how long (ttlMs)
	Fresh  time.Duration // from At on
	Public bool          // it is the same for everybody (cacheScope)
	At     time.Time     // when it was read
}

// Lives are those of what a child offers.
type Lives struct {
	Self  Life    // of what it says of itself (server/discover)
	Lists [4]Life // of its tools, prompts, resources and resource templates, in the order of lists
}

// and is the life of two parts together.
func (l Life) and(o Life) Life {
	switch {
	case o.Told && l.Told:
		l.Fresh = min(l.Fresh, o.Fresh)
	case o.Told:
		l.Fresh = o.Fresh
	}
	l.Told, l.Public = l.Told || o.Told, l.Public && o.Public
	return l
}

// lifeOf reads what a result says of its life.
func lifeOf(result []byte) Life {
	scope, _ := jsonrpc.String(jsonrpc.Get(result, "cacheScope"))
	return Life{Told: jsonrpc.Get(result, "ttlMs") != nil, Fresh: freshFor(result), Public: scope == "public", At: time.Now()}
}

// handshake sends initialize to a child. Versions and their negotiation are
// mcp-go's; what the child said is kept raw beside what mcp-go made of it.
// It declares what shown says, a raw object.
func handshake(ctx context.Context, conn link.Link, version string, shown []byte) (*Offer, error) {
	hop := &hop{link: conn, shown: shown}
	// A pinned version of the handshake's era also keeps mcp-go from probing for
	// the other one, which some servers leave unanswered for five seconds.
	c := client.NewClient(hop, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var req mcp.InitializeRequest
	req.Params.ClientInfo = mcp.Implementation{Name: "mcphub", Version: version}
	res, err := c.Initialize(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	info := jsonrpc.Get(hop.raw, "serverInfo")
	return &Offer{
		ServerName:    res.ServerInfo.Name,
		ServerVersion: res.ServerInfo.Version,
		Protocol:      res.ProtocolVersion,
		Instructions:  res.Instructions,
		Capabilities:  slices.Clone(jsonrpc.Get(hop.raw, "capabilities")),
		ServerInfo:    slices.Clone(info),
	}, nil
}

// hop carries mcp-go's handshake over a Link. Nothing else goes through it:
// what the child sends is served by the Link's own handler.
type hop struct {
	link  link.Link
	shown []byte // capabilities, raw: mcp-go would leave out what it does not know
	raw   []byte // the last result
}

var _ transport.BidirectionalInterface = (*hop)(nil)

func (h *hop) Start(context.Context) error                          { return nil }
func (h *hop) Close() error                                         { return nil }
func (h *hop) GetSessionId() string                                 { return "" }
func (h *hop) SetNotificationHandler(func(mcp.JSONRPCNotification)) {}
func (h *hop) SetRequestHandler(transport.RequestHandler)           {}
func (h *hop) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	if len(n.Params.AdditionalFields) == 0 && len(n.Params.Meta) == 0 {
		return h.link.Notify(ctx, n.Method)
	}
	raw, err := json.Marshal(n.Params)
	if err != nil {
		return err
	}
	return h.link.Notify(ctx, n.Method, raw)
}

func (h *hop) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	var params [][]byte
	if r.Params != nil {
		raw, err := json.Marshal(r.Params)
		if err != nil {
			return nil, err
		}
		params = h.declaring(r.Method, raw)
	}
	res, err := h.link.Call(ctx, r.Method, params...)
	if err != nil {
		return nil, err
	}
	defer res.Release()
	if e := res.Err(); e != nil {
		return nil, e
	}
	h.raw = slices.Clone(res.Result)
	return transport.NewJSONRPCResultResponse(r.ID, json.RawMessage(h.raw)), nil
}

// declaring puts the capabilities in their place in the params of initialize.
func (h *hop) declaring(method string, raw []byte) [][]byte {
	declared := jsonrpc.Get(raw, "capabilities")
	if method != "initialize" || declared == nil {
		return [][]byte{raw}
	}
	at := cap(raw) - cap(declared)
	return [][]byte{raw[:at], h.shown, raw[at+len(declared):]}
}

// declares reports whether a raw capabilities object has a member that is not
// null.
func declares(capabilities []byte, name string) bool {
	v := jsonrpc.Get(capabilities, name)
	return v != nil && string(v) != "null"
}

// Bounds of one tools/list with all its pages.
const (
	maxPages     = 1000
	maxEntries   = 20_000
	maxListBytes = 256 << 20
)

var errNoSuchMethod = errors.New("the child does not know the method")

// A list is one of the lists that a child offers.
type list struct {
	capability string // that says that the child has it
	method     string
	member     string // of the result
	changed    string // the notification that there is a newer one
	entries    func(*Offer) *[][]byte
}

// lists are all of them. The first is what a child is mostly started for: a
// child that cannot give it has not started.
var lists = [...]list{
	{"tools", "tools/list", "tools", methodToolsChanged, func(o *Offer) *[][]byte { return &o.Tools }},
	{"prompts", "prompts/list", "prompts", "notifications/prompts/list_changed", func(o *Offer) *[][]byte { return &o.Prompts }},
	{"resources", "resources/list", "resources", methodResourcesChanged, func(o *Offer) *[][]byte { return &o.Resources }},
	{"resources", "resources/templates/list", "resourceTemplates", methodResourcesChanged, func(o *Offer) *[][]byte { return &o.Templates }},
}

// whole asks for all pages of a list. Entries stay as the child sent them, odd
// ones too: who uses one says what is wrong with it. Where a later page fails,
// a cursor comes back, or a bound is reached, note says so and the entries so
// far stand.
func (l *list) whole(ctx context.Context, conn link.Link) (all catalogue, err error) {
	seen := map[string]bool{}
	var cursor []byte
	size := 0
	for at := 0; ; at++ {
		p, err := listPage(ctx, conn, l.method, l.member, cursor)
		switch {
		case errors.Is(err, errNoSuchMethod) && at == 0:
			all.note = fmt.Sprintf("it declares %s but does not know %s", l.capability, l.method)
			return all, nil
		case err != nil && at == 0:
			return all, err
		case err != nil:
			all.note, all.cut = fmt.Sprintf("page %d of %s failed: %v", at+1, l.method, err), errors.As(err, new(*unansweredError))
			return all, nil
		}
		for _, e := range p.entries {
			size += len(e)
			all.entries = append(all.entries, e)
		}
		if at == 0 {
			all.life = p.life
		}
		all.life, all.private = all.life.and(p.life), all.private || p.private
		switch {
		case p.next == nil:
			return all, nil
		case seen[string(p.next)]:
			all.note = l.method + " gave the same cursor twice"
			return all, nil
		case at+1 >= maxPages || len(all.entries) >= maxEntries || size >= maxListBytes:
			all.note = fmt.Sprintf("%s does not end: cut after %d pages, %d entries", l.method, at+1, len(all.entries))
			return all, nil
		}
		seen[string(p.next)] = true
		cursor = p.next
	}
}

// A catalogue is a list, or a page of one, with what the child says of its life.
type catalogue struct {
	entries [][]byte
	next    []byte // raw cursor of the next page; nil at the end
	note    string // what was wrong with it
	cut     bool   // the rest may come another time
	life    Life
	private bool
}

// An unansweredError says that the child has not answered, be it with an error.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string { return e.err.Error() }

// Unwrap returns what became of the request.
func (e *unansweredError) Unwrap() error { return e.err }

// allLists picks every list, as bits by their place in lists.
const allLists = 1<<len(lists) - 1

// listed returns a copy of base with those lists as they are now that the bits
// of which pick. What is wrong with any but the first spoils only that one: it stays as
// it was in base, and a note says so. Nothing is returned of a child that has ended.
func listed(ctx context.Context, conn link.Link, base *Offer, which uint32) (*Offer, []string, error) {
	o := *base
	var all [len(lists)]catalogue
	var errs [len(lists)]error
	var wg sync.WaitGroup
	asked := func(i int) bool { return which&(1<<i) != 0 && declares(base.Capabilities, lists[i].capability) }
	for i := range lists {
		if l := &lists[i]; asked(i) {
			wg.Go(func() { all[i], errs[i] = l.whole(ctx, conn) })
		}
	}
	wg.Wait()
	var told []string
	for i := range lists {
		l := &lists[i]
		switch {
		case !asked(i):
		case errs[i] != nil && (i == 0 || errors.Is(errs[i], jsonrpc.ErrClosed)):
			return nil, nil, errs[i]
		case errs[i] != nil:
			told = append(told, errs[i].Error())
			if errors.As(errs[i], new(*unansweredError)) {
				o.cut |= 1 << i
			}
		default:
			o.cut &^= 1 << i
			if all[i].cut {
				o.cut |= 1 << i
			}
			entries := all[i].entries
			if l, ok := conn.(link.ToolsLearner); ok && i == 0 {
				var odd []string
				entries, odd = l.LearnTools(entries)
				told = append(told, odd...)
			}
			*l.entries(&o) = entries
			if all[i].note != "" {
				told = append(told, all[i].note)
			}
			o.Private, o.lives.Lists[i] = o.Private || all[i].private, all[i].life
			if i == 0 {
				o.Fresh = all[i].life.Fresh
			} else {
				o.Fresh = min(o.Fresh, all[i].life.Fresh)
			}
		}
	}
	return &o, told, nil
}

// listPage asks for one page of a list.
func listPage(ctx context.Context, conn link.Link, method, member string, cursor []byte) (p catalogue, err error) {
	var params [][]byte
	if cursor != nil {
		params = [][]byte{[]byte(`{"cursor":`), cursor, []byte(`}`)}
	}
	res, err := conn.Call(ctx, method, params...)
	if err != nil {
		return p, fmt.Errorf("%s: %w", method, &unansweredError{err})
	}
	if e := res.Err(); e != nil {
		if e.Code == jsonrpc.CodeMethodNotFound {
			return p, errNoSuchMethod
		}
		return p, fmt.Errorf("%s: %w", method, e)
	}
	raw := slices.Clone(res.Result) // entries are kept for long
	res.Release()
	err = jsonrpc.Elements(jsonrpc.Get(raw, member), func(v []byte) bool {
		p.entries = append(p.entries, v)
		return true
	})
	if err != nil {
		return p, fmt.Errorf("%s: the result has no list of %s", method, member)
	}
	if c := jsonrpc.Get(raw, "nextCursor"); len(c) > 2 && c[0] == '"' {
		p.next = c
	}
	p.life, p.private = lifeOf(raw), isPrivate(raw)
	return p, nil
}
