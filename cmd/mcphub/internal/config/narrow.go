package config

import (
	"reflect"
	"slices"

	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/keys"
)

// Narrow returns f, restricted as another reading of the same file is, and opened by nothing. A server that by lacks is
// removed, and one that by disables is disabled. A token that by lacks is removed. A deny rule that by has added is added.
// whole reports whether by differs from f in nothing else.
//
// Only these changes are sure to restrict. Others, such as other roots or a sandbox, may
// open as much as they close.
func (f *File) Narrow(by *File) (n *File, whole bool) {
	out := *f
	out.Sum = "" // it is what no file reads
	out.Servers = nil
	for _, s := range f.Servers {
		at := slices.IndexFunc(by.Servers, func(o Server) bool { return o.Key == s.Key })
		if at < 0 {
			continue
		}
		s.Disabled = s.Disabled || by.Servers[at].Disabled
		out.Servers = append(out.Servers, s)
	}
	// A token that is taken out closes something, unless it was the last: then another kind counts.
	if tokens := slices.DeleteFunc(slices.Clone(f.HTTP.Tokens), func(t Token) bool {
		return !slices.ContainsFunc(by.HTTP.Tokens, func(o Token) bool { return o.Name == t.Name })
	}); len(tokens) > 0 {
		out.HTTP.Tokens = tokens
	}
	if others := slices.DeleteFunc(slices.Clone(by.Policy.Rules), func(r Rule) bool {
		return r.Then == keys.ThenDeny && !slices.ContainsFunc(f.Policy.Rules, func(o Rule) bool { return reflect.DeepEqual(o, r) })
	}); sameRules(others, f.Policy.Rules) {
		out.Policy.Rules, out.Policy.Raw = by.Policy.Rules, by.Policy.Raw // wherever a rule that denies stands, it allows nothing
	}
	return &out, out.Equivalent(by)
}

func sameRules(a, b []Rule) bool {
	return slices.EqualFunc(a, b, func(x, y Rule) bool { return reflect.DeepEqual(x, y) })
}

// Equivalent reports whether two readings of a file means the same, wherever it stands in
// them. One with a server that cannot be read means nothing that is known.
func (f *File) Equivalent(o *File) bool {
	bare := func(f *File) File {
		b := *f
		b.Path, b.Sum, b.Trail, b.src, b.tree = "", "", hubfile.Trail{}, nil, nil
		b.Servers, b.Policy.Rules, b.Policy.Raw = nil, nil, nil
		return b
	}
	same := func(x, y Server) bool { return x.Err == nil && y.Err == nil && reflect.DeepEqual(x, y) }
	return slices.EqualFunc(f.Servers, o.Servers, same) && sameRules(f.Policy.Rules, o.Policy.Rules) && reflect.DeepEqual(bare(f), bare(o))
}
