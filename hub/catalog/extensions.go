package catalog

import (
	"fmt"
	"slices"

	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// This file is about what children offer beyond the protocol: the members of
// their capabilities "extensions" and "experimental".

// Members of capabilities that hold extensions.
const (
	memberExtensions   = "extensions"
	memberExperimental = "experimental"
)

// Bounds of the extensions of one child.
const (
	maxExtensions    = 64
	maxExtensionSize = 16 << 10 // bytes of all keys and values
)

// An extension is one such member of the capabilities of a child.
type extension struct {
	member string // extensions or experimental
	key    string
	value  []byte // raw, an object
}

// readExtensions reads the extensions in the capabilities of a child. One whose
// value is no object is left out, for a client might refuse all the others with
// it.
func readExtensions(caps []byte) (all []extension, omitted []Omission) {
	size := 0
	for _, member := range []string{memberExtensions, memberExperimental} {
		seen := map[string]bool{}
		_ = jsonrpc.Members(jsonrpc.Get(caps, member), func(key string, value []byte) bool {
			size += len(key) + len(value)
			reason := ""
			switch {
			case key == methods.ExtensionTasks:
				return true // the hub serves it itself: see package tasks
			case !jsonrpc.IsObject(value):
				reason = "its value is no object"
			case seen[key]:
				reason = "a second one of this name; the first one counts"
			case len(all) == maxExtensions || size > maxExtensionSize:
				reason = fmt.Sprintf("this server has more than %d extensions, or more than %d bytes of them", maxExtensions, maxExtensionSize)
			}
			if reason != "" {
				omitted = append(omitted, Omission{"extension " + key, reason})
				return len(omitted) < maxExtensions
			}
			seen[key] = true
			all = append(all, extension{member, key, value})
			return true
		})
	}
	return all, omitted
}

// Extends reports whether the child offers an extension that a method is of.
func (o *Offer) Extends(method string) bool {
	return slices.ContainsFunc(o.extensions, func(x extension) bool { return declaration.Extends(x.key, method) })
}

// An Extension is one extension or experimental capability as clients are offered it.
type Extension struct {
	Key          string
	Experimental bool
	Owners       []string // children that have it, in order; the first one's value is offered

	value []byte
}

// Extensions are the extensions of several children.
type Extensions []Extension

// Extensions joins the extensions of the children that have told what they offer.
func (b *Builder) Extensions(offers map[string]*Offer) Extensions {
	all := make([]*Offer, 0, len(offers))
	for i := range b.cfg.Children {
		if name := b.cfg.Children[i].Name; b.ShowsOthers(name) {
			all = append(all, offers[name])
		}
	}
	return joinExtensions(all)
}

// joinExtensions joins them in the order of the configuration.
func joinExtensions(offers []*Offer) (all Extensions) {
	for _, offer := range offers {
		if offer == nil {
			continue
		}
		for _, x := range offer.extensions {
			experimental := x.member == memberExperimental
			at := slices.IndexFunc(all, func(o Extension) bool { return o.Key == x.key && o.Experimental == experimental })
			if at < 0 {
				all = append(all, Extension{x.key, experimental, []string{offer.child}, x.value})
			} else {
				all[at].Owners = append(all[at].Owners, offer.child)
			}
		}
	}
	return all
}

// Append appends the members extensions and experimental to an open object of
// capabilities; known are raw members of extensions that the hub offers itself.
func (all Extensions) Append(b []byte, known string) []byte {
	for _, member := range []string{memberExtensions, memberExperimental} {
		inner := []byte{'{'}
		if member == memberExtensions {
			inner = append(inner, known...)
		}
		for _, x := range all {
			if x.Experimental == (member == memberExperimental) {
				inner = jsonrpc.AppendMember(inner, x.Key, x.value)
			}
		}
		if len(inner) > 1 {
			b = jsonrpc.AppendMember(b, member, append(inner, '}'))
		}
	}
	return b
}

// Owners returns the children that have an extension.
func (all Extensions) Owners(key string) []string {
	for i := range all {
		if all[i].Key == key && !all[i].Experimental {
			return all[i].Owners
		}
	}
	return nil
}

// Speakers returns the children that a method or notification which the protocol
// does not know may belong to: those with an extension that it is of, else
// those with any.
func (all Extensions) Speakers(method string) []string {
	var named, any []string
	for i := range all {
		for _, owner := range all[i].Owners {
			if declaration.Extends(all[i].Key, method) && !slices.Contains(named, owner) {
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
