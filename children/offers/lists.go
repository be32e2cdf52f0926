package offers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// whole asks for all pages of a list. Entries stay as the child sent them, odd
// ones too: who uses one says what is wrong with it. Where a later page fails,
// a cursor comes back, or a bound is reached, note says so and the entries so
// far stand.
func (l *List) whole(ctx context.Context, conn link.Link) (all catalogue, err error) {
	seen := map[string]bool{}
	var cursor []byte
	size := 0
	for at := 0; ; at++ {
		p, err := listPage(ctx, conn, l.Method, l.Member, cursor, maxEntries-len(all.entries))
		switch {
		case errors.Is(err, errNoSuchMethod) && at == 0:
			all.note = fmt.Sprintf("it declares %s but does not know %s", l.Capability, l.Method)
			return all, nil
		case err != nil && at == 0:
			return all, err
		case err != nil:
			all.note, all.cut = fmt.Sprintf("page %d of %s failed: %v", at+1, l.Method, err), errors.As(err, new(*unansweredError))
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
		case p.next == nil && !p.cut:
			return all, nil
		case seen[string(p.next)]:
			all.note = l.Method + " gave the same cursor twice"
			return all, nil
		case at+1 >= maxPages || len(all.entries) >= maxEntries || size >= maxListBytes:
			all.note = fmt.Sprintf("%s does not end: cut after %d pages, %d entries", l.Method, at+1, len(all.entries))
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

// Lists picks some of the lists, as bits by their place in lists.
type Lists uint32

// AllLists picks every list.
const AllLists Lists = 1<<len(lists) - 1

// Unannounced are the lists of an offer of whose changes no notification tells, and for how long they may be kept by what
// the child said; 0, 0 where it has none.
func Unannounced(o *Offer) (which Lists, fresh time.Duration) {
	for i := range lists {
		if lists[i].Extension && lists[i].Declared(o.Capabilities) {
			which |= 1 << i
			fresh = o.Lives.Lists[i].Fresh
		}
	}
	return which, fresh
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

// Read returns a copy of base in which the lists that which picks are read anew. A list that fails stays as it was in base,
// and a note says so. Read fails only if the first list does, or if the child has ended.
func Read(ctx context.Context, conn link.Link, base *Offer, which Lists) (*Offer, error) {
	o := *base
	var all [len(lists)]catalogue
	var errs [len(lists)]error
	var wg sync.WaitGroup
	asked := func(i int) bool { return which&(1<<i) != 0 && lists[i].Declared(base.Capabilities) }
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
			return nil, errs[i]
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
			o.Entries[i] = entries
			if all[i].note != "" {
				told = append(told, all[i].note)
			}
			o.Private, o.Lives.Lists[i] = o.Private || all[i].private, all[i].life
			switch {
			case i == 0:
				o.Fresh = all[i].life.Fresh
			case !l.Extension: // see Unannounced
				o.Fresh = min(o.Fresh, all[i].life.Fresh)
			}
		}
	}
	o.Notes = told
	return &o, nil
}

// listPage asks for one page of a list. It reads no more than most entries, and no more
// of the page is kept than they are.
func listPage(ctx context.Context, conn link.Link, method, member string, cursor []byte, most int) (p catalogue, err error) {
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
	if c := jsonrpc.Get(raw, "nextCursor"); len(c) > 2 && c[0] == '"' {
		p.next = c
	}
	p.life, p.private = LifeOf(raw), IsPrivate(raw)
	return p, nil
}
