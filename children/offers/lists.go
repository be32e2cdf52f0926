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
	"mcphub/internal/methods"
)

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
	extension  bool   // capability is the key of an extension
	method     string
	member     string // of the result
	changed    string // the notification that there is a newer one
	entries    func(*Offer) *[][]byte
}

// lists are all of them. The first is what a child is mostly started for: a
// child that cannot give it has not started.
var lists = [...]list{
	{"tools", false, methods.ListTools, "tools", methods.ToolsChanged, func(o *Offer) *[][]byte { return &o.Tools }},
	{"prompts", false, methods.ListPrompts, "prompts", methods.PromptsChanged, func(o *Offer) *[][]byte { return &o.Prompts }},
	{"resources", false, methods.ListResources, "resources", methods.ResourcesChanged, func(o *Offer) *[][]byte { return &o.Resources }},
	{"resources", false, methods.ListTemplates, "resourceTemplates", methods.ResourcesChanged, func(o *Offer) *[][]byte { return &o.Templates }},
	{methods.ExtensionSkills, true, methods.ListSkills, "skills", methods.ResourcesChanged, func(o *Offer) *[][]byte { return &o.Skills }}, // a skill is made of resources, and has no notification of its own
}

// declared reports whether a child with these capabilities has the list.
func (l *list) declared(capabilities []byte) bool {
	if l.extension {
		return DeclaresExtension(capabilities, l.capability)
	}
	return Declares(capabilities, l.capability)
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
		p, err := listPage(ctx, conn, l.method, l.member, cursor, maxEntries-len(all.entries))
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
		case p.next == nil && !p.cut:
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

// Lists picks some of the lists, as bits by their place in lists.
type Lists uint32

// AllLists picks every list.
const AllLists Lists = 1<<len(lists) - 1

// Unannounced are the lists of an offer of whose changes no notification tells, and for how long they may be kept by what
// the child said; 0, 0 where it has none.
func Unannounced(o *Offer) (which Lists, fresh time.Duration) {
	for i := range lists {
		if lists[i].extension && lists[i].declared(o.Capabilities) {
			which |= 1 << i
			fresh = o.Lives.Lists[i].Fresh
		}
	}
	return which, fresh
}

// Changed returns the lists that a notification is about; 0 for none.
func Changed(method string) (which Lists) {
	for i := range lists {
		if lists[i].changed == method {
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
	asked := func(i int) bool { return which&(1<<i) != 0 && lists[i].declared(base.Capabilities) }
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
			*l.entries(&o) = entries
			if all[i].note != "" {
				told = append(told, all[i].note)
			}
			o.Private, o.Lives.Lists[i] = o.Private || all[i].private, all[i].life
			switch {
			case i == 0:
				o.Fresh = all[i].life.Fresh
			case !l.extension: // see Unannounced
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
