package hub

import (
	"slices"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
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
	able := s.calls.Able(k, nil)
	if able.Extends(method) {
		return true
	}
	g, offers := s.Offers()
	among := g.Offers.Extensions(offers).Speakers(method)
	return slices.Contains(among, k.Child) && (len(among) == 1 || offers[k.Child].Extends(method))
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
		r.Extensions = append(r.Extensions, ExtensionReport{printable.Escape(x.Key, 200), x.Experimental, x.Owners[0], x.Owners[1:]})
	}
	return r
}
