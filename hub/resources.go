package hub

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// A source is one child that may have a resource, under the child's own URI.
type source struct {
	gen   *generation
	child string
	uri   string
}

// whose is what is known of whose a resource is: the children that may have it,
// the likeliest first.
type whose struct {
	sure   bool     // likely is one, and no other child can have it
	likely []source // a template of theirs fits
	alike  []source // they list something of the same scheme
	others []source // they may know more than they list
}

// sources tells whose a resource is: that of the child that lists it, or names it
// as the app of a tool; of the one that the URI itself names; else see whose.
func (c *Catalog) sources(uri string) (w whose) {
	sure := func(child, remote string) whose {
		return whose{sure: true, likely: []source{{c.gen, child, remote}}}
	}
	if it := c.shelves[kindResources].byName[uri]; it != nil {
		return sure(it.child, it.remote)
	}
	if at, ok := c.apps.whose[uri]; ok {
		return sure(at.child, at.uri)
	}
	if child, rest, ok := addressee(uri); ok && c.gen.byName[child] != nil {
		if !isUI(uri) {
			return sure(child, rest)
		}
		if c.apps.renames(child) { // or it is a resource that is really called so
			w.likely = append(w.likely, source{c.gen, child, rest})
		}
	}
	for _, name := range c.gen.names() {
		if !c.resourceful[name] {
			continue
		}
		at := source{c.gen, name, uri}
		switch {
		case anyTemplate(c.templates[name], uri):
			w.likely = append(w.likely, at)
		case c.schemes[name][scheme(uri)]:
			w.alike = append(w.alike, at)
		default:
			w.others = append(w.others, at)
		}
	}
	return w
}

// sources returns the children that may have a resource, the likeliest first, once
// it is known what they offer. sure: no other child can have it.
func (s *Session) sources(ctx context.Context, uri string) (list []source, sure bool) {
	if s.tools().shelves[kindResources].byName[uri] == nil {
		s.awaitOffers(ctx)
	}
	w := s.tools().sources(uri)
	return slices.Concat(w.likely, w.alike, w.others), w.sure
}

func anyTemplate(templates []string, uri string) bool {
	for _, t := range templates {
		if validate.MatchesTemplate(t, uri) {
			return true
		}
	}
	return false
}

// scheme is the scheme of a URI, in lower case.
func scheme(uri string) string {
	name, _, _ := strings.Cut(uri, ":")
	return strings.ToLower(name)
}

// findTemplate finds a template, or a resource, by what the client knows it by.
func (s *Session) findTemplate(ctx context.Context, uri string) *item {
	known := func(c *Catalog) *item {
		if it := c.shelves[kindTemplates].byName[uri]; it != nil {
			return it
		}
		return c.shelves[kindResources].byName[uri]
	}
	if it := known(s.tools()); it != nil {
		return it
	}
	s.awaitOffers(ctx)
	c := s.tools()
	if it := known(c); it != nil {
		return it
	}
	if child, rest, ok := addressee(uri); ok && c.gen.byName[child] != nil {
		return &item{gen: c.gen, name: uri, child: child, remote: rest}
	}
	return nil
}

// mostSources bounds how many children are asked for one resource.
const mostSources = 16

// readResource answers resources/read. Where it is not known whose a resource
// is, the children are asked in turn until one has it: each is judged first.
func (s *Session) readResource(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if err := checkParams(m); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	quoted, uri, err := stringAt(m, "uri", "a URI")
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	ctx = s.withNotice(ctx, tokenOf(m))
	list, sure := s.sources(ctx, uri)
	a, from, err := s.inTurn(ctx, uri, list, sure, func(from source) (jsonrpc.Answer, error) {
		return s.aboutResource(ctx, m, from, quoted, nil)
	})
	switch {
	case errors.Is(err, errSuperseded):
		return s.readResource(ctx, m)
	case a.Error == nil && from.uri != uri:
		return renamedContents(a, from.uri, uri)
	}
	return a
}

// inTurn asks the children that may have a resource, the likeliest first, until
// one has it. Where none does the answer is what the likeliest said that knows the
// request at all. errSuperseded: it has to begin anew.
func (s *Session) inTurn(ctx context.Context, uri string, list []source, sure bool, ask func(source) (jsonrpc.Answer, error)) (jsonrpc.Answer, source, error) {
	said := noResource(uri)
	for i, from := range list {
		if i == mostSources || ctx.Err() != nil {
			break
		}
		a, err := ask(from)
		switch {
		case errors.Is(err, errSuperseded):
			return a, from, err
		case errors.Is(err, errDenied):
			return a, from, nil
		case a.Error == nil || sure || !notFound(a):
			return a, from, nil
		}
		if i == 0 || jsonrpc.ParseError(said.Error).Code == jsonrpc.CodeMethodNotFound {
			said, a = a, said
		}
		if a.Release != nil {
			a.Release()
		}
	}
	return said, source{}, nil
}

// aboutResource makes a request about one resource of one child. Its answer and
// error are those of Call.run; what a reload came between is made anew here, as long
// as the child is the same.
func (s *Session) aboutResource(ctx context.Context, m *jsonrpc.Message, from source, quoted []byte, before func(*children.Lease) error) (jsonrpc.Answer, error) {
	for {
		g := from.gen
		c := &Call{s: s, token: tokenOf(m), request: splicingOf(m, quoted, from.uri), target: &requestTarget{
			gen: g, child: from.child, name: m.Method, before: before, follows: true, templates: s.tools().templates[from.child],
			look: func(templates []string) (*validate.Scan, error) {
				return g.cfg.Checker.ScanURI(from.child, from.uri, templates...)
			},
		}}
		a, err := c.run(ctx)
		if from.gen = s.hub.now(); !errors.Is(err, errSuperseded) || from.gen == g || s.hub.superseded(g.byName[from.child]) {
			return a, err
		}
	}
}

// templatesOf are all templates of an offer, those too that are not listed: the
// child reads by them.
func templatesOf(o *children.Offer) []string {
	var all []string
	for _, raw := range o.Templates {
		if t, ok := jsonrpc.String(jsonrpc.Get(raw, listing[kindTemplates].key)); ok {
			all = append(all, t)
		}
	}
	return all
}

// notFound reports whether an error says that a child does not have a resource.
// Before 2026-07-28 it is -32002; servers also say -32602, and some -32603.
func notFound(a jsonrpc.Answer) bool {
	switch jsonrpc.ParseError(a.Error).Code {
	case mcp.RESOURCE_NOT_FOUND, jsonrpc.CodeInvalidParams, jsonrpc.CodeInternal, jsonrpc.CodeMethodNotFound:
		return true
	}
	return false
}

func noResource(uri string) jsonrpc.Answer {
	data, _ := json.Marshal(map[string]string{"uri": uri})
	e := &jsonrpc.Error{Code: mcp.RESOURCE_NOT_FOUND, Message: "Resource not found: no server behind this hub has it", Data: data}
	return jsonrpc.Answer{Error: e.Raw()}
}

// renamedContents puts the client's URI in the place of the child's own.
func renamedContents(a jsonrpc.Answer, remote, uri string) jsonrpc.Answer {
	var edits []edit
	with := jsonrpc.AppendString(nil, uri)
	_ = jsonrpc.Elements(jsonrpc.Get(a.Result, "contents"), func(content []byte) bool {
		at := jsonrpc.Get(content, "uri")
		if text, ok := jsonrpc.String(at); ok && text == remote {
			edits = append(edits, edit{Old: at, With: with})
		}
		return true
	})
	if len(edits) == 0 {
		return a
	}
	renamed := jsonrpc.ResultAnswer(join(splice(a.Result, edits...)))
	if a.Release != nil {
		a.Release()
	}
	return renamed
}
