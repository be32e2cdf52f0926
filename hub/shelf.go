package hub

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"mcphub/internal/jsonrpc"
)

// A kind is one of the lists that a client may ask for.
type kind uint8

const (
	kindTools kind = iota
	kindPrompts
	kindResources
	kindTemplates
	kinds
)

// listing is what is known of each kind.
var listing = [kinds]struct {
	method  string
	member  string // of the result, and of the entry: what it is known by
	key     string
	what    string // for people
	changed string

	capability string // that says that a child has such a list
}{
	kindTools:     {"tools/list", "tools", "name", "tool", "notifications/tools/list_changed", "tools"},
	kindPrompts:   {"prompts/list", "prompts", "name", "prompt", "notifications/prompts/list_changed", "prompts"},
	kindResources: {"resources/list", "resources", "uri", "resource", "notifications/resources/list_changed", "resources"},
	kindTemplates: {"resources/templates/list", "resourceTemplates", "uriTemplate", "resource template", "notifications/resources/list_changed", "resources"},
}

// kindOf is the kind that a method lists; kinds for none.
func kindOf(method string) kind {
	for k := range listing {
		if listing[k].method == method {
			return kind(k)
		}
	}
	return kinds
}

// An item is a prompt, a resource or a template as the client sees it.
type item struct {
	name   string // towards the client: a name, a URI, a URI template
	child  string
	remote string // the child's own
	def    []byte // definition towards the client
	gen    *generation
}

// A shelf holds the items of one kind.
type shelf struct {
	items  []*item
	byName map[string]*item
	pages  func() *pages
}

// readItems reads a child's list of one kind. An entry that is none is left
// out, with the reason.
func (g *generation) readItems(k kind, child *Child, entries [][]byte) (items []*item, odd []oddity) {
	l := listing[k]
	seen := map[string]bool{}
	size := 0
	for i, raw := range entries {
		remote, ok := jsonrpc.String(jsonrpc.Get(raw, l.key))
		size += len(raw)
		reason := ""
		switch {
		case !ok || remote == "":
			reason = fmt.Sprintf("it is no %s with a %s", l.what, l.key)
		case !unambiguous(raw):
			reason = "its definition has a member twice"
		case seen[remote]:
			reason = fmt.Sprintf("a second %s of this %s; the first one counts", l.what, l.key)
		case size > g.cfg.Limits.Definitions:
			reason = g.tooMuch(k)
		}
		if reason != "" {
			label := fmt.Sprintf("%s %d", l.what, i+1)
			if remote != "" {
				label = l.what + " " + remote
			}
			odd = append(odd, oddity{label, reason})
			continue
		}
		seen[remote] = true
		it := &item{gen: g, name: remote, child: child.Spec.Name, remote: remote, def: cleaned(raw)}
		if k == kindPrompts {
			it.name = g.cfg.Names.exposed(it.child, child.Prefix, remote)
			it.def = rekeyed(it.def, l.key, it.name)
		}
		items = append(items, it)
	}
	return items, odd
}

// rekeyed returns a definition that is known by another name.
func rekeyed(def []byte, key, name string) []byte {
	return join(splice(def, edit{Old: jsonrpc.Get(def, key), With: jsonrpc.AppendString(nil, name)}))
}

// ownScheme begins a URI that names its server: mcphub://SERVER/URI. That of an app
// keeps its scheme, by which clients know it: ui://SERVER/REST.
const (
	ownScheme = "mcphub://"
	uiScheme  = "ui://"
)

// addressed is a URI, or template, that names its server too.
func addressed(child, uri string) string {
	scheme, rest := ownScheme, uri
	if isUI(uri) {
		scheme, rest = uri[:len(uiScheme)], uri[len(uiScheme):]
	}
	return scheme + url.PathEscape(child) + "/" + rest
}

// addressee reads such a URI. One of an app may look like one and be none.
func addressee(uri string) (child, rest string, ok bool) {
	scheme := ""
	if rest, ok = strings.CutPrefix(uri, ownScheme); !ok {
		if !isUI(uri) {
			return "", "", false
		}
		scheme, rest = uri[:len(uiScheme)], uri[len(uiScheme):]
	}
	child, rest, ok = strings.Cut(rest, "/")
	if name, err := url.PathUnescape(child); ok && err == nil {
		return name, scheme + rest, true
	}
	return "", "", false
}

// isUI reports whether a URI is that of an app.
func isUI(uri string) bool {
	return len(uri) >= len(uiScheme) && strings.EqualFold(uri[:len(uiScheme)], uiScheme)
}

// fill puts the items of all children on a shelf, in the order of hub.json.
// Prompts that want the same name are all marked, like tools. A resource or
// template that an earlier server has too keeps its content and gets a URI that
// names its server: what a later server offers never stands before what was
// there.
func (g *generation) fill(k kind, offered [][]*item) *shelf {
	s := &shelf{byName: map[string]*item{}}
	wanted := map[string]int{}
	for _, list := range offered {
		for _, it := range list {
			wanted[it.name]++
		}
	}
	var marked []*item
	for _, list := range offered {
		for _, it := range list {
			mine := *it
			s.items = append(s.items, &mine)
			if wanted[mine.name] == 1 || k != kindPrompts && s.byName[mine.name] == nil {
				s.byName[mine.name] = &mine
			} else {
				marked = append(marked, &mine)
			}
		}
	}
	for _, it := range marked {
		it.name = g.markedItem(k, s, it)
		it.def = rekeyed(it.def, listing[k].key, it.name)
		s.byName[it.name] = it
	}
	defs := make([][]byte, len(s.items))
	for i, it := range s.items {
		defs[i] = it.def
	}
	s.pages = sync.OnceValue(func() *pages { return paginate(listing[k].member, defs) })
	for name, it := range s.byName {
		if it.gen != g {
			delete(s.byName, name) // its server is being replaced: see dropGhosts
		}
	}
	return s
}

func (g *generation) markedItem(k kind, s *shelf, it *item) string {
	if k != kindPrompts {
		return addressed(it.child, it.remote) // those of apps have their names already: see apps.go
	}
	for size := markSize; ; size++ {
		if name := g.cfg.Names.marked(it.child, g.byName[it.child].Prefix, it.remote, size); s.byName[name] == nil {
			return name
		}
	}
}

// Bounds of one page: so many entries, or so many bytes.
const (
	pageEntries = 1000
	pageBytes   = 4 << 20
)

// pages are the results of a list, one after the other.
type pages struct {
	digest  string // of everything on them: the generation that a cursor belongs to
	results [][]byte
}

// paginate renders pages. A cursor is opaque and belongs to exactly this list.
func paginate(member string, defs [][]byte) *pages {
	sum := sha256.New()
	for _, d := range defs {
		sum.Write(strconv.AppendInt(nil, int64(len(d)), 10))
		sum.Write(d)
	}
	p := &pages{digest: hex.EncodeToString(sum.Sum(nil)[:8])}
	for at := 0; ; {
		b := append([]byte(`{"`), member...)
		b = append(b, `":[`...)
		from := at
		for ; at < len(defs) && at-from < pageEntries && (at == from || len(b)+len(defs[at]) <= pageBytes); at++ {
			if at > from {
				b = append(b, ',')
			}
			b = append(b, defs[at]...)
		}
		b = append(b, ']')
		if at < len(defs) {
			b = jsonrpc.AppendString(append(b, `,"nextCursor":`...), p.cursor(len(p.results)+1))
		}
		p.results = append(p.results, append(b, '}'))
		if at >= len(defs) {
			return p
		}
	}
}

func (p *pages) cursor(page int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.digest + "." + strconv.Itoa(page)))
}

// at answers a request for a page; a cursor of another list, or of none, is an
// error (2025-11-25, Pagination).
func (p *pages) at(cursor []byte) jsonrpc.Answer {
	if cursor == nil || string(cursor) == "null" {
		return jsonrpc.ResultAnswer(p.results[0])
	}
	text, _ := jsonrpc.String(cursor)
	raw, _ := base64.RawURLEncoding.DecodeString(text)
	digest, number, _ := strings.Cut(string(raw), ".")
	page, err := strconv.Atoi(number)
	switch {
	case err != nil || page < 1 || page >= len(p.results) && digest == p.digest:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "unknown cursor: ask again without one")
	case digest != p.digest:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "the list has changed since this cursor was given: ask again without one")
	}
	return jsonrpc.ResultAnswer(p.results[page])
}
