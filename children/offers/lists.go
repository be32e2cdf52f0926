package offers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
)

// Bounds of one tools/list with all its pages.
const (
	maxPages     = 1000
	maxEntries   = 20_000
	maxListBytes = 256 << 20
)

var errNoSuchMethod = errors.New("the child does not know the method")

// listWhole asks for all pages of a list. Entries stay as the child sent them, odd
// ones too: who uses one reports what is wrong with it. If a later page fails, a
// cursor comes back, or a bound is reached, note says so and the entries so far
// stand.
func (list *List) listWhole(ctx context.Context, conn link.ChildConnection) (all catalogue, err error) {
	seen := map[string]bool{}
	var cursor []byte
	size := 0
	for at := 0; ; at++ {
		p, err := listPage(ctx, conn, list.Method, list.Member, cursor, maxEntries-len(all.entries))
		switch {
		case errors.Is(err, errNoSuchMethod) && at == 0:
			all.note, all.absent = fmt.Sprintf("it declares %s but does not know %s", list.Capability, list.Method), true
			return all, nil
		case err != nil && at == 0:
			return all, err
		case err != nil:
			all.note, all.cut = fmt.Sprintf("page %d of %s failed: %v", at+1, list.Method, err), errors.As(err, new(*unansweredError))
			return all, nil
		}
		for _, e := range p.entries {
			size += len(e)
			all.entries = append(all.entries, e)
		}
		if at == 0 {
			all.life = p.life
		}
		all.life, all.private = all.life.joinLife(p.life), all.private || p.private
		switch {
		case p.next == nil && !p.cut:
			return all, nil
		case seen[string(p.next)]:
			all.note = list.Method + " gave the same cursor twice"
			return all, nil
		case at+1 >= maxPages || len(all.entries) >= maxEntries || size >= maxListBytes:
			all.note = fmt.Sprintf("%s does not end: cut after %d pages, %d entries", list.Method, at+1, len(all.entries))
			return all, nil
		}
		seen[string(p.next)] = true
		cursor = p.next
	}
}

// A catalogue is a list, or a page of one, with what the child says about its life.
type catalogue struct {
	entries [][]byte
	next    []byte // raw cursor of the next page; nil at the end
	note    string // what was wrong with it
	cut     bool   // the rest may come another time
	absent  bool   // the child does not know the list
	life    Life
	private bool
}

// An unansweredError means that the child has not answered, be it with an error.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string { return e.err.Error() }

// Unwrap returns what became of the request.
func (e *unansweredError) Unwrap() error { return e.err }

// Lists picks some of the lists, as bits by their place in lists.
type Lists uint32

// AllLists picks every list.
const AllLists Lists = 1<<len(lists) - 1

// Unannounced returns the lists of an offer of whose changes no notification tells, and for how long they may be kept by
// what the child said; 0, 0 if it has none.
func Unannounced(o *RawOffer) (which Lists, fresh time.Duration) {
	for i := range lists {
		if lists[i].Extension && lists[i].IsDeclared(o.Capabilities) {
			which |= 1 << i
			fresh = o.Lives.Lists[i].Fresh
		}
	}
	return which, fresh
}

// Quiet returns the lists that an offer has, and of whose changes the child does not tell. A
// list counts while the child has not said that it may be kept: lives are the lives of now.
func Quiet(o *RawOffer, lives *Lives) (which Lists) {
	for i := range lists {
		life := lives.Lists[i]
		if lists[i].IsDeclared(o.Capabilities) && !lists[i].IsAnnounced(o.Capabilities) && time.Since(life.At) >= life.Fresh {
			which |= 1 << i
		}
	}
	return which
}

// Changed returns the lists that a notification is about; 0 for none.
func Changed(method string) (which Lists) {
	for i := range lists {
		if lists[i].Changed == method {
			which |= 1 << i
		}
	}
	return which
}

const (
	// toolsTime is how long the list of tools may hold the others up that have been had.
	toolsTime = 10 * time.Second
	// restTime is how long the others may take when the tools have been had.
	restTime = 2 * time.Second
)

// ErrTooSlow is why a list is given up that others wait for.
var ErrTooSlow = errors.New("it was not answered in time")

// readAll reads lists side by side. None holds another one up for long: one that is not
// answered while others are is given up.
func readAll(ctx context.Context, conn link.ChildConnection, asked func(i int) bool) (all [len(lists)]catalogue, errs [len(lists)]error) {
	var wg sync.WaitGroup
	rest, endRest := context.WithCancelCause(ctx)
	defer endRest(nil)
	tools, endTools := context.WithCancelCause(ctx)
	defer endTools(nil)
	limit := func(end context.CancelCauseFunc, after time.Duration) { // of which the first counts
		t := time.AfterFunc(after, func() { end(ErrTooSlow) })
		context.AfterFunc(ctx, func() { t.Stop() })
	}
	var had sync.Once
	for i := range lists {
		l := &lists[i]
		switch {
		case !asked(i):
		case ListKind(i) == Tools:
			wg.Go(func() {
				all[i], errs[i] = l.listWhole(tools, conn)
				limit(endRest, restTime)
			})
		default:
			wg.Go(func() {
				if all[i], errs[i] = l.listWhole(rest, conn); errs[i] == nil {
					had.Do(func() { limit(endTools, toolsTime) })
				}
			})
		}
	}
	wg.Wait()
	return all, errs
}

// Read returns a copy of base in which the lists that which picks are read again. A list that fails, or of which the child does
// not answer a page, stays as it was in base, if it was there, and a note says so; Failed reports which. Read fails only if the
// child has ended, if it answers nothing, or if it asks for a login.
func Read(ctx context.Context, conn link.ChildConnection, base *RawOffer, which Lists) (*RawOffer, error) {
	o := *base
	asked := func(i int) bool { return which&(1<<i) != 0 && lists[i].IsDeclared(base.Capabilities) }
	ctx, end := context.WithCancel(ctx)
	defer end()
	all, errs := readAll(ctx, conn, asked)
	if err := errs[Tools]; err != nil && errors.As(err, new(*unansweredError)) && ctx.Err() != nil {
		return nil, err
	}
	o.notes = base.notes
	for i := range lists {
		l, told := &lists[i], &o.notes[i]
		switch {
		case !asked(i):
			continue
		case errors.Is(errs[i], jsonrpc.ErrClosed), link.AsksForLogin(errs[i]): // which is about the child, not about a list
			return nil, errs[i]
		}
		*told = nil
		if o.unread &^= 1 << i; all[i].absent {
			o.unread |= 1 << i
		}
		if errs[i] != nil || all[i].cut {
			o.failed, o.unread = o.failed|1<<i, o.unread|1<<i
			if ListKind(i) == Tools || all[i].cut || errors.As(errs[i], new(*unansweredError)) {
				o.cut |= 1 << i
			}
			*told = []string{cmp.Or(all[i].note, fmt.Sprint(errs[i])) + "; it is asked for again"}
			if errs[i] != nil || o.Entries[i] != nil {
				continue
			}
		} else {
			o.cut, o.failed = o.cut&^(1<<i), o.failed&^(1<<i)
			if all[i].note != "" {
				*told = []string{all[i].note}
			}
		}
		o.Entries[i] = all[i].entries
		if l, ok := conn.(link.ToolsLearner); ok && i == 0 {
			var odd []string
			o.Entries[i], odd = l.LearnTools(o.Entries[i])
			*told = append(odd, *told...)
		}
		o.Private, o.Lives.Lists[i] = o.Private || all[i].private, all[i].life
		switch {
		case i == 0:
			o.Fresh = all[i].life.Fresh
		case !l.Extension: // see Unannounced
			o.Fresh = min(o.Fresh, all[i].life.Fresh)
		}
	}
	o.Notes = slices.Concat(o.notes[:]...)
	return &o, nil
}

// undeclaredTime is how long a child may take to answer for lists that it does not declare.
const undeclaredTime = 2 * time.Second

// WithUndeclared returns base with the lists that the child has if it declares none: some servers declare nothing and answer all the same. What
// it does not answer it does not have.
func WithUndeclared(ctx context.Context, conn link.ChildConnection, base *RawOffer) *RawOffer {
	for i := range lists {
		if lists[i].IsDeclared(base.Capabilities) {
			return base
		}
	}
	ctx, end := context.WithTimeoutCause(ctx, undeclaredTime, ErrTooSlow)
	defer end()
	var mu sync.Mutex
	has := map[string]bool{} // by capability
	var asking sync.WaitGroup
	for i := range lists {
		if l := &lists[i]; !l.Extension {
			asking.Go(func() {
				if _, err := listPage(ctx, conn, l.Method, l.Member, nil, 0); err == nil {
					mu.Lock()
					defer mu.Unlock()
					has[l.Capability] = true
				}
			})
		}
	}
	asking.Wait()
	found := jsonrpc.AppendMembers([]byte{'{'}, base.Capabilities, func(name string) bool { return !has[name] })
	for _, capability := range slices.Sorted(maps.Keys(has)) {
		found = jsonrpc.AppendMember(found, capability, []byte("{}"))
	}
	o := *base
	o.Capabilities = append(found, '}')
	return &o
}

// listPage asks for one page of a list. It reads no more than most entries, and no more
// of the page is kept than they are.
func listPage(ctx context.Context, conn link.ChildConnection, method, member string, cursor []byte, most int) (p catalogue, err error) {
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
		if p.cut = len(p.entries) == most; !p.cut {
			p.entries = append(p.entries, v)
		}
		return !p.cut
	})
	if err != nil {
		return p, fmt.Errorf("%s: the result has no list of %s", method, member)
	}
	if p.cut {
		for i, e := range p.entries {
			p.entries[i] = bytes.Clone(e)
		}
	}
	// An empty cursor is one like any other in results of 2026-07-28, which have a type; servers with a handshake end lists by it.
	if c := jsonrpc.Get(raw, "nextCursor"); len(c) > 0 && c[0] == '"' && (len(c) > 2 || jsonrpc.Get(raw, "resultType") != nil) {
		p.next = c
	}
	p.life, p.private = LifeOf(raw), IsPrivate(raw)
	return p, nil
}
