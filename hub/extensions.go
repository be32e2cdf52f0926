package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcphub/children"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// This file passes on what the protocol does not know (H4): the extension and
// experimental capabilities of children, and the methods that belong to them.

// An extension is a member of the capabilities "extensions" or "experimental" of
// a child.
type extension struct {
	member string // extensions or experimental
	key    string
	value  []byte // raw, an object
}

// Members of capabilities that hold extensions.
const (
	memberExtensions   = "extensions"
	memberExperimental = "experimental"
)

// Bounds of the extensions of one child.
const (
	mostExtensions   = 64
	maxExtensionSize = 16 << 10 // bytes of all keys and values
)

// names reports whether a method or notification is one of an extension: its
// first part is the end of the key, or it begins with the whole key.
func names(key, method string) bool {
	method = strings.TrimPrefix(method, "notifications/")
	first, _, _ := strings.Cut(method, "/")
	return key != "" && (key[strings.LastIndexAny(key, "/.")+1:] == first || strings.HasPrefix(method, key+"/"))
}

// readExtensions reads the extensions in the capabilities of a child. One whose
// value is no object is left out, for a client might refuse all the others with
// it.
func readExtensions(caps []byte) (all []extension, odd []oddity) {
	size := 0
	for _, member := range []string{memberExtensions, memberExperimental} {
		seen := map[string]bool{}
		_ = jsonrpc.Members(jsonrpc.Get(caps, member), func(key string, value []byte) bool {
			size += len(key) + len(value)
			reason := ""
			switch {
			case key == tasks.Extension:
				return true // the hub serves it itself: see package tasks
			case !isObject(value):
				reason = "its value is no object"
			case seen[key]:
				reason = "a second one of this name; the first one counts"
			case len(all) == mostExtensions || size > maxExtensionSize:
				reason = fmt.Sprintf("this server has more than %d extensions, or more than %d bytes of them", mostExtensions, maxExtensionSize)
			}
			if reason != "" {
				odd = append(odd, oddity{"extension " + key, reason})
				return len(odd) < mostExtensions
			}
			seen[key] = true
			all = append(all, extension{member, key, value})
			return true
		})
	}
	return all, odd
}

// An offeredExtension is an extension as a client is offered it.
type offeredExtension struct {
	extension
	owners []string // children that have it, in the order of hub.json; the first one's value is offered
}

// joinExtensions joins the extensions of the children that have told what they
// offer.
func (g *generation) joinExtensions(offers map[string]*childOffer) (all []offeredExtension) {
	for i := range g.cfg.Children {
		name := g.cfg.Children[i].Spec.Name
		if offers[name] == nil {
			continue
		}
		for _, x := range offers[name].extensions {
			at := slices.IndexFunc(all, func(o offeredExtension) bool { return o.member == x.member && o.key == x.key })
			if at < 0 {
				all = append(all, offeredExtension{x, []string{name}})
			} else {
				all[at].owners = append(all[at].owners, name)
			}
		}
	}
	return all
}

// appendExtensions appends the members extensions and experimental to an open
// object of capabilities; known are raw members of extensions that the hub offers
// itself.
func appendExtensions(b []byte, all []offeredExtension, known string) []byte {
	for _, member := range []string{memberExtensions, memberExperimental} {
		inner := []byte{'{'}
		if member == memberExtensions {
			inner = append(inner, known...)
		}
		for _, x := range all {
			if x.member == member {
				inner = jsonrpc.AppendMember(inner, x.key, x.value)
			}
		}
		if len(inner) > 1 {
			b = jsonrpc.AppendMember(b, member, append(inner, '}'))
		}
	}
	return b
}

// withExtensions adds what the children offer beyond the protocol, as far as it is
// known by now, to the result of initialize.
func (s *Session) withExtensions(result []byte) []byte {
	caps := jsonrpc.Get(result, "capabilities")
	s.mu.Lock()
	all := s.tab.gen.joinExtensions(s.tab.offers)
	s.mu.Unlock()
	if !isObject(caps) || len(all) == 0 {
		return result
	}
	b := jsonrpc.AppendMembers([]byte{'{'}, caps, func(string) bool { return true })
	return join(splice(result, edit{Old: caps, With: append(appendExtensions(b, all, ""), '}')}))
}

// speakers returns the children that a method or notification which the protocol
// does not know may belong to: those with an extension that it is of, else
// those with any.
func speakers(all []offeredExtension, method string) []string {
	var named, any []string
	for i := range all {
		for _, owner := range all[i].owners {
			if names(all[i].key, method) && !slices.Contains(named, owner) {
				named = append(named, owner)
			}
			if !slices.Contains(any, owner) {
				any = append(any, owner)
			}
		}
	}
	if named != nil {
		return named
	}
	return any
}

// expects reports whether a notification that the protocol does not know may go to
// the client: it declared such an extension, or the child that sends it offers
// one.
func (s *Session) expects(k children.Key, method string) bool {
	able := s.able(k, nil)
	if able.extends(method) {
		return true
	}
	s.mu.Lock()
	offers := maps.Clone(s.tab.offers)
	g := s.tab.gen
	s.mu.Unlock()
	among := speakers(g.joinExtensions(offers), method)
	return slices.Contains(among, k.Child) && (len(among) == 1 || offers[k.Child].extends(method))
}

// extends reports whether the child offers an extension that a method is of.
func (o *childOffer) extends(method string) bool {
	return slices.ContainsFunc(o.extensions, func(x extension) bool { return names(x.key, method) })
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
	s.awaitOffers(ctx)
	c := s.tools()
	among := speakers(c.extensions, m.Method)
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
	if m.Params != nil && !isObject(m.Params) {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "the params of "+quotedName(m.Method)+" are to be an object")
	}
	a, err := s.extendTo(ctx, c.gen, among[0], m, edits)
	if errors.Is(err, errSuperseded) && ctx.Err() == nil {
		return s.extend(ctx, m)
	}
	if ownType(a.Result) {
		s.clientOf(ctx).typed()
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
func (s *Session) extendTo(ctx context.Context, g *generation, child string, m *jsonrpc.Message, edits []edit) (jsonrpc.Answer, error) {
	judged := without(m.Params, "_meta")
	if len(edits) > 0 { // what the child gets is what is judged
		judged = without(join(splice(m.Params, edits...)), "_meta")
	}
	t := &requestTarget{
		gen: g, child: child, name: m.Method, follows: true, templates: s.tools().templates[child],
		look: func(templates []string) (*validate.Scan, error) {
			return g.cfg.Checker.ScanParams(child, m.Method, judged, templates...)
		},
	}
	token := tokenOf(m)
	c := &Call{s: s, target: t, token: token, told: m.IsNotification(), build: func(own []byte, _ []edit) [][]byte {
		if m.Params == nil {
			return nil
		}
		all := slices.Clone(edits)
		if own != nil {
			all = append(all, edit{Old: token, With: own})
		}
		return splice(m.Params, all...)
	}}
	if c.told {
		c.token, t.unaskable = nil, "nobody is asked about a notification"
	}
	return c.run(ctx)
}

// named finds the child that the thing belongs to which the params name, and the
// edits that put the child's own name for it in the place of the client's. ""
// where they name nothing that is known.
func (s *Session) named(c *Catalog, m *jsonrpc.Message, among []string) (child string, edits []edit) {
	if id, ok := jsonrpc.String(m.Param("taskId")); ok {
		if k, ok := s.tasks.Find(id); ok {
			return k.Child, nil
		}
	}
	own := func(quoted []byte, was, is string) []edit {
		if was == is {
			return nil
		}
		return []edit{{Old: quoted, With: jsonrpc.AppendString(nil, is)}}
	}
	if uri, ok := jsonrpc.String(m.Param("uri")); ok {
		if child, remote := c.ownerOf(uri, among); child != "" {
			return child, own(m.Param("uri"), uri, remote)
		}
	}
	if name, ok := jsonrpc.String(m.Param("name")); ok {
		if o := c.byName[name]; o != nil && o.child != "" {
			return o.child, own(m.Param("name"), name, o.remote)
		}
		if it := c.shelves[kindPrompts].byName[name]; it != nil {
			return it.child, own(m.Param("name"), name, it.remote)
		}
	}
	return "", nil
}

// ownerOf returns the one child of these that a URI belongs to, with its own name
// for it; "" where that cannot be told.
func (c *Catalog) ownerOf(uri string, among []string) (child, remote string) {
	from := c.sources(uri)
	if from.sure {
		return from.likely[0].child, from.likely[0].uri
	}
	for _, rank := range [][]source{from.likely, from.alike} {
		rank = slices.DeleteFunc(rank, func(at source) bool { return !slices.Contains(among, at.child) })
		if len(rank) == 1 {
			return rank[0].child, rank[0].uri
		}
		if len(rank) > 1 {
			break
		}
	}
	return "", ""
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

func reportExtensions(all []offeredExtension) (r extensionsReport) {
	for _, x := range all {
		r.Extensions = append(r.Extensions, ExtensionReport{shown(x.key, 200), x.member == memberExperimental, x.owners[0], x.owners[1:]})
	}
	return r
}
