package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"
)

// Names says how the tools of children are called towards the client (H1).
type Names struct {
	Separator string // between child and tool, "__"
	Max       int    // bytes of a whole name, 50: clients add a prefix of their own and cut at 60 to 64
}

func (n Names) withDefaults() Names {
	if n.Separator == "" {
		n.Separator = "__"
	}
	if n.Max <= 0 {
		n.Max = 50
	}
	return n
}

// plain reports whether every client takes name as it is.
func plain(name string) bool {
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_-./", c) >= 0:
		default:
			return false
		}
	}
	return name != ""
}

// mark is what makes the name of one tool of one child its own. It depends on
// nothing else, so a name stays the same whatever other children do, but for
// the case that one of theirs looks like it.
func mark(child, tool string, size int) string {
	sum := sha256.Sum256([]byte(child + "\x00" + tool))
	all := hex.EncodeToString(sum[:])
	return all[:min(size, len(all))] + strings.Repeat("_", max(0, size-len(all)))
}

// markSize is how many hexadecimal digits a mark has, unless that is taken.
const markSize = 8

// exposed returns the name of a tool towards the client: prefix and tool, as
// they are where they fit; else with odd characters replaced, cut to size and
// marked.
func (n Names) exposed(child, prefix, tool string) string {
	full := prefix + tool
	if plain(full) && len(full) <= n.Max {
		return full
	}
	return n.marked(child, prefix, tool, markSize)
}

// marked returns the name with its mark, which no other tool has.
func (n Names) marked(child, prefix, tool string, size int) string {
	b := []byte(prefix + tool)
	for i, c := range b {
		if !plain(string(rune(c))) || c >= 0x80 {
			b[i] = '_'
		}
	}
	tail := "_" + mark(child, tool, size)
	if room := max(n.Max-len(tail), 1); len(b) > room {
		b = b[:room]
	}
	return string(b) + tail
}

// owners returns the children to which an unknown name may belong, the longest
// prefix first.
func (g *generation) owners(name string) []string {
	var out []string
	for i := range g.cfg.Children {
		c := &g.cfg.Children[i]
		if strings.HasPrefix(name, c.Prefix) {
			out = append(out, c.Spec.Name)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return len(g.byName[out[i]].Prefix) > len(g.byName[out[j]].Prefix) })
	return out
}
