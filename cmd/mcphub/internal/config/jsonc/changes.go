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
	before, ok1 := splitParts(was)
	after, ok2 := splitParts(now)
	if !ok1 || !ok2 {
		return append(signLines("-", string(was)), signLines("+", string(now))...)
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if before[name] != after[name] {
			lines = append(append(lines, signLines("-", before[name])...), signLines("+", after[name])...)
		}
	}
	return lines
}

func signLines(sign, text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, sign+" "+strings.TrimRight(line, "\r\n"))
	}
	return lines
}

// splitParts returns the keys of a file, and the members of the ones that are objects, each
// with its text.
func splitParts(text []byte) (map[string]string, bool) {
	out := map[string]string{}
	if len(bytes.TrimSpace(text)) == 0 {
		return out, true
	}
	src := NewSource("", text)
	top, bad := src.Parse()
	if bad != nil || top.Kind != '{' || hasTwice(top) {
		return nil, false
	}
	plain, err := src.Standard()
	if err != nil {
		return nil, false
	}
	for _, m := range top.Members {
		if len(m.Value.Members) == 0 || hasTwice(m.Value) {
			out[m.Name] = titlePart(m.Name, plain, m.Value)
			continue
		}
		for _, below := range m.Value.Members {
			out[m.Name+"\x00"+below.Name] = titlePart(m.Name+" "+below.Name, plain, below.Value)
		}
	}
	return out, true
}

// hasTwice reports whether an object has two members of one name.
func hasTwice(n *Node) bool {
	names := map[string]bool{}
	for _, m := range n.Members {
		names[m.Name] = true
	}
	return len(names) < len(n.Members)
}

func titlePart(name string, plain []byte, at *Node) string {
	var b bytes.Buffer
	value := plain[at.Off:at.End]
	if json.Indent(&b, value, "", "  ") != nil {
		return name + ": " + string(value)
	}
	return name + ": " + b.String()
}
