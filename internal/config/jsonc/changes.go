package jsonc

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

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
	plain, err := NewSource("", text).Standard()
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
