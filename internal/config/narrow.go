package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"mcphub/internal/config/hubfile"
)

// Narrowed returns f with the restrictions of another reading of the same file, and with
// nothing that it allows: servers that it has no more or has disabled are out, and rules
// that deny which it has added are in. whole reports that the other one differs in nothing
// else.
//
// Only these changes are sure to restrict. Others, such as other roots or a sandbox, may
// open as much as they close.
func (f *File) Narrowed(by *File) (n *File, whole bool) {
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
	if others := slices.DeleteFunc(slices.Clone(by.Policy.Rules), func(r Rule) bool { return r.Then == ThenDeny && !hasRule(f, r) }); sameRules(others, f.Policy.Rules) {
		out.Policy.Rules, out.Policy.Raw = by.Policy.Rules, by.Policy.Raw // wherever a rule that denies stands, it allows nothing
	}
	return &out, out.Means(by)
}

func hasRule(f *File, r Rule) bool {
	return slices.ContainsFunc(f.Policy.Rules, func(o Rule) bool { return reflect.DeepEqual(o, r) })
}

func sameRules(a, b []Rule) bool {
	return slices.EqualFunc(a, b, func(x, y Rule) bool { return reflect.DeepEqual(x, y) })
}

// Means reports whether two readings of a file come to the same, wherever it stands in
// them. One with a server that cannot be read means nothing that is known.
func (f *File) Means(o *File) bool {
	bare := func(f *File) File {
		b := *f
		b.Path, b.Sum, b.Trail, b.src, b.tree = "", "", hubfile.Trail{}, nil, nil
		b.Servers, b.Policy.Rules, b.Policy.Raw = nil, nil, nil
		return b
	}
	same := func(x, y Server) bool { return x.Err == nil && y.Err == nil && reflect.DeepEqual(x, y) }
	return slices.EqualFunc(f.Servers, o.Servers, same) && sameRules(f.Policy.Rules, o.Policy.Rules) && reflect.DeepEqual(bare(f), bare(o))
}

// Changes tells two texts of a file apart, for a person: each server, and each other key,
// that differs, whole, as it was after "-" and as it is after "+". A text that cannot be
// read is told as it stands.
func Changes(was, now []byte) (lines []string) {
	before, ok1 := parts(was)
	after, ok2 := parts(now)
	if !ok1 || !ok2 {
		return append(signed("-", string(was)), signed("+", string(now))...)
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if before[name] != after[name] {
			lines = append(append(lines, signed("-", before[name])...), signed("+", after[name])...)
		}
	}
	return lines
}

func signed(sign, text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, sign+" "+strings.TrimRight(line, "\r\n"))
	}
	return lines
}

// parts are the keys of a file, and the members of those that are objects, each with its
// text.
func parts(text []byte) (map[string]string, bool) {
	out := map[string]string{}
	if len(bytes.TrimSpace(text)) == 0 {
		return out, true
	}
	plain, err := hujson.Standardize(append(bytes.TrimPrefix(bytes.Clone(text), []byte("\xef\xbb\xbf")), '\n'))
	if err != nil {
		return nil, false
	}
	top, ok := members(plain)
	if !ok {
		return nil, false
	}
	for key, value := range top {
		below, ok := members(value)
		if !ok || len(below) == 0 {
			out[key] = titled(key, value)
			continue
		}
		for name, member := range below {
			out[key+"\x00"+name] = titled(key+" "+name, member)
		}
	}
	return out, true
}

// members are those of an object. One that has a name twice is none.
func members(raw []byte) (map[string]json.RawMessage, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		key, _ := name.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		if _, twice := out[key]; twice {
			return nil, false
		}
		out[key] = value
	}
	return out, true
}

func titled(name string, value []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return name + ": " + string(value)
	}
	return name + ": " + b.String()
}
