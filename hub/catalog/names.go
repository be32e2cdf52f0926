package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Names describes how the tools of children are called towards the client.
type Names struct {
	Separator string // between child and tool, "__"
	Max       int    // bytes of a whole name, 50: clients add a prefix of their own and cut at 60 to 64
}

// WithDefaults puts the defaults instead of what is not set.
func (n Names) WithDefaults() Names {
	if n.Separator == "" {
		n.Separator = "__"
	}
	if n.Max <= 0 {
		n.Max = 50
	}
	return n
}

// MaxToolName is the most bytes of a name that clients of today take. A Max above it is for clients that take whatever the protocol allows.
const MaxToolName = 64

// isAcceptable reports whether every client takes the characters of a tool's own name. The protocol allows . and / too, but some models
// refuse each prompt that has such a tool.
func (n Names) isAcceptable(name string) bool {
	signs := "_-"
	if n.Max > MaxToolName {
		signs = "_-./"
	}
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(signs, c) >= 0:
		default:
			return false
		}
	}
	return name != ""
}

// makeMark returns what makes the name of one tool of one child its own. It
// depends on nothing else, so a name stays the same whatever other children do,
// but for the case that one of theirs looks like it.
func makeMark(child, tool string, size int) string {
	sum := sha256.Sum256([]byte(child + "\x00" + tool))
	all := hex.EncodeToString(sum[:])
	return all[:min(size, len(all))] + strings.Repeat("_", max(0, size-len(all)))
}

// markSize is how many hexadecimal digits a mark has, unless that is taken.
const markSize = 8

// exposedName returns the name of a tool towards the client: prefix and tool, as
// they are if they fit; else with odd characters of the tool's own name replaced, cut to size and
// marked. The prefix is as the configuration has it.
func (n Names) exposedName(child, prefix, tool string) string {
	full := prefix + tool
	if n.isAcceptable(tool) && len(full) <= n.Max {
		return full
	}
	return n.markedName(child, prefix, tool, markSize)
}

// markedName returns the name with its mark, which no other tool has.
func (n Names) markedName(child, prefix, tool string, size int) string {
	b := []byte(prefix + tool)
	for i := len(prefix); i < len(b); i++ {
		if !n.isAcceptable(string(b[i : i+1])) {
			b[i] = '_'
		}
	}
	tail := "_" + makeMark(child, tool, size)
	if size := max(n.Max-len(tail), 1); len(b) > size {
		b = b[:size]
	}
	return string(b) + tail
}
