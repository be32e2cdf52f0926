package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// This file passes on what the protocol does not know: the extension and
// experimental capabilities of children, and the methods that belong to them.

// withExtensions adds what the children offer beyond the protocol, as far as it is
// known by now, to the result of initialize.
func (s *Session) withExtensions(result []byte) []byte {
	caps := jsonrpc.Get(result, "capabilities")
	g, offers := s.Offers()
	all := g.Offers.Extensions(offers)
	if !jsonrpc.IsObject(caps) || len(all) == 0 {
		return result
	}
	b := jsonrpc.AppendMembers([]byte{'{'}, caps, func(string) bool { return true })
	return jsonrpc.Join(jsonrpc.Splice(result, jsonrpc.Edit{Old: caps, With: append(all.Append(b, ""), '}')}))
}

// expects reports whether a notification that the protocol does not know may go to
// the client: it declared such an extension, or the child that sends it offers
// one.
func (s *Session) expects(k children.Key, method string) bool {
	able := s.able(k, nil)
	if able.Extends(method) {
		return true
	}
	g, offers := s.Offers()
	among := g.Offers.Extensions(offers).Speakers(method)
	return slices.Contains(among, k.Child) && (len(among) == 1 || offers[k.Child].Extends(method))
}

// longestMethod bounds the name of a method that anything is looked up for, in bytes.
const longestMethod = 256

// extension serves what the protocol does not know, and records it.
func (s *Session) extension(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if len(m.Method) > longestMethod {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, fmt.Sprintf("no method has a name of more than %d bytes", longestMethod))
	}
	return s.recorded(ctx, m, (*Session).extend)
}

// extend answers a request that the protocol does not know, and passes on such a
// notification: the child that it belongs to gets it, where the params are
// allowed as arguments of a tool without a schema would be.
func (s *Session) extend(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	s.AwaitOffers(ctx)
	c := s.Catalog()
	among := c.Extensions().Speakers(m.Method)
	named, edits := s.named(c, m, among)
	switch {
	case len(among) == 0 || strings.HasPrefix(m.Method, ownMethods) || strings.HasPrefix(m.Method, "rpc."):
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, "no server behind this hub offers an extension that "+quotedName(m.Method)+" could belong to")
	case slices.Contains(among, named):
		among = []string{named}
	case len(among) > 1:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeMethodNotFound, fmt.Sprintf(
			"%s may belong to several servers (%s), and nothing in its params (a uri, name or taskId of one of them) tells to which", quotedName(m.Method), quotedList(among)))
	default:
		edits = nil
	}
	if m.Params != nil && !jsonrpc.IsObject(m.Params) {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "the params of "+quotedName(m.Method)+" are to be an object")
	}
	a, err := s.extendTo(ctx, c.By, among[0], m, edits)
	if errors.Is(err, configuration.ErrSuperseded) && ctx.Err() == nil {
		return s.extend(ctx, m)
	}
	if ownType(a.Result) {
		s.clientOf(ctx).Typed()
	}
	return a
}

// ownMethods begins the names of the hub's own methods.
const ownMethods = "mcphub/"

// ownType reports whether a result has a type of an extension's own.
func ownType(result []byte) bool {
	kind, ok := jsonrpc.String(jsonrpc.Get(result, "resultType"))
	return ok && kind != children.ResultInput && kind != children.ResultTask
}

// extendTo sends a request or notification to one child, with edits of its params.
func (s *Session) extendTo(ctx context.Context, g *configuration.Configuration, child string, m *jsonrpc.Message, edits []jsonrpc.Edit) (jsonrpc.Answer, error) {
	judged := jsonrpc.Without(m.Params, "_meta")
	if len(edits) > 0 { // what the child gets is what is judged
		judged = jsonrpc.Without(jsonrpc.Join(jsonrpc.Splice(m.Params, edits...)), "_meta")
	}
	t := &requestTarget{
		gen: g, child: child, name: m.Method, follows: true, templates: s.Catalog().TemplatesOf(child),
		look: func(templates []string) (*validate.Scan, error) {
			return g.Checker.ScanParams(child, m.Method, judged, templates...)
		},
	}
	token := tokenOf(m)
	c := &Call{s: s, target: t, token: token, told: m.IsNotification(), build: func(own []byte, _ []jsonrpc.Edit) [][]byte {
		if m.Params == nil {
			return nil
		}
		all := slices.Clone(edits)
		if own != nil {
			all = append(all, jsonrpc.Edit{Old: token, With: own})
		}
		return jsonrpc.Splice(m.Params, all...)
	}}
	if c.told {
		c.token, t.unaskable = nil, "nobody is asked about a notification"
	}
	return c.run(ctx)
}

// named finds the child that the thing belongs to which the params name, and the
// edits that put the child's own name for it in the place of the client's. ""
// where they name nothing that is known.
func (s *Session) named(c *offering.Catalog, m *jsonrpc.Message, among []string) (child string, edits []jsonrpc.Edit) {
	if id, ok := jsonrpc.String(m.Param("taskId")); ok {
		if k, ok := s.tasks.Find(id); ok {
			return k.Child, nil
		}
	}
	own := func(quoted []byte, was, is string) []jsonrpc.Edit {
		if was == is {
			return nil
		}
		return []jsonrpc.Edit{{Old: quoted, With: jsonrpc.AppendString(nil, is)}}
	}
	if uri, ok := jsonrpc.String(m.Param("uri")); ok {
		if at, ok := c.OwnerOf(uri, among); ok {
			return at.Child, own(m.Param("uri"), uri, at.URI)
		}
	}
	if name, ok := jsonrpc.String(m.Param("name")); ok {
		if t := c.Tool(name); t != nil && t.Child != "" {
			return t.Child, own(m.Param("name"), name, t.Remote)
		}
		if it := c.Item(catalog.Prompts, name); it != nil {
			return it.Child, own(m.Param("name"), name, it.Remote)
		}
	}
	return "", nil
}

// extensionsReport is what children offer beyond the protocol.
type extensionsReport struct {
	Extensions []ExtensionReport `json:"extensions,omitempty"`
}

// An ExtensionReport is one extension or experimental capability that clients are
// offered.
type ExtensionReport struct {
	Key          string   `json:"key"`
	Experimental bool     `json:"experimental,omitempty"`
	Server       string   `json:"server"`              // whose settings of it clients are shown
	Contested    []string `json:"contested,omitempty"` // other servers that have it too
}

func reportExtensions(all catalog.Extensions) (r extensionsReport) {
	for _, x := range all {
		r.Extensions = append(r.Extensions, ExtensionReport{shown(x.Key, 200), x.Experimental, x.Owners[0], x.Owners[1:]})
	}
	return r
}
