package detect

import (
	"bytes"

	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/names"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
	"mcphub/validate/text"
)

// Most calls hold a few numbers and words, and nothing that could be a path. To see that takes one look at their bytes, and
// no tree of them. A plain reader knows for certain that there is nothing to find in some arguments, and that they fit the
// schema. What it is not sure of is for the search to say.
type plain struct {
	members  map[string]plainMember
	required int // how many members must be there
}

// plainMember is a declared argument.
type plainMember struct {
	schema.Member
	index int  // of a bit
	text  bool // a string is free text, or of no known meaning
	prose bool // free text
}

const (
	maxPlain        = 16 << 10 // bytes of arguments
	maxPlainMembers = 64       // declared
)

// plainOf returns the reader for a tool whose schema was read; nil where more has to be known of a value than its own bytes.
func plainOf(t *Tool) *plain {
	if t.Mode != declare.ModeStrict || t.pathFormats || len(t.defaults) > 0 || len(t.Rules.Start()) > 0 {
		return nil
	}
	members, required, ok := t.schema.Members()
	if !ok || len(members) > maxPlainMembers {
		return nil
	}
	p := &plain{make(map[string]plainMember, len(members)), required}
	for name, m := range members {
		class := t.classes[name]
		if m.Declared && !text.MayBePath([]byte(name)) {
			p.members[name] = plainMember{m, len(p.members), class == names.Other || class == names.Content, class == names.Content}
		}
	}
	return p
}

// fitsPlainly reports whether arguments fit the schema and hold nothing to find, for certain.
func (p *plain) fitsPlainly(args []byte, guarded *Names) bool {
	if p == nil || len(args) == 0 {
		return p != nil && p.required == 0
	}
	args = strictjson.TrimJSONSpace(args)
	if len(args) > maxPlain || len(args) < 2 || args[0] != '{' || args[len(args)-1] != '}' {
		return false
	}
	seen, missing := uint64(0), p.required
	for rest := args[1 : len(args)-1]; len(rest) > 0; {
		name, after, ok := plainText(trimBlank(rest))
		if !ok || len(after) < 2 || after[0] != ':' {
			return false
		}
		m, known := p.members[string(name)]
		if !known || seen&(1<<m.index) != 0 {
			return false
		}
		seen |= 1 << m.index
		if m.Required {
			missing--
		}
		if rest, ok = p.readValue(m, trimBlank(after[1:]), guarded); !ok {
			return false
		}
		if len(rest) == 0 {
			break
		}
		if rest[0] != ',' || len(rest) < 2 {
			return false
		}
		rest = rest[1:]
	}
	return missing == 0
}

// readValue reads the value of a member, and returns what follows it.
func (p *plain) readValue(m plainMember, b []byte, guarded *Names) (rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	if b[0] == '"' {
		raw, rest, ok := plainText(b)
		return rest, ok && m.text && isHarmless(raw, m.prose) && !guarded.isIn(raw) && m.Fits(strictjson.String, b[:len(b)-len(rest)])
	}
	end := bytes.IndexAny(b, ", ")
	if end < 0 {
		end = len(b)
	}
	raw := b[:end]
	kind := strictjson.Number
	switch string(raw) {
	case "true", "false":
		kind = strictjson.Bool
	case "null":
		kind = strictjson.Null
	default:
		if !isShortInteger(raw) {
			return nil, false
		}
	}
	return b[end:], m.Fits(kind, raw)
}

// plainSigns are the bytes of texts in which no path, URI, escape or mention begins.
var plainSigns = func() (set [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		set[c] = bytes.IndexByte([]byte("\"\\/~$:%=@"), c) < 0
	}
	return set
}()

// plainText reads a string of plain signs between its quotes, and what follows it.
func plainText(b []byte) (text, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	i := 1
	for i < len(b) && plainSigns[b[i]] {
		i++
	}
	if i == len(b) || b[i] != '"' {
		return nil, nil, false
	}
	return b[1:i], b[i+1:], true
}

// isHarmless reports whether the search finds nothing in a text of plain signs.
func isHarmless(raw []byte, prose bool) bool {
	if raw = bytes.TrimLeft(raw, " "); len(raw) == 0 || chars.IsLetter(raw[0]) && !prose {
		return true // at the cost of a byte
	}
	return !(prose && text.MayBePatch(string(raw[:1]))) && !text.MayBeOption(raw) && string(raw) != ".." && !text.MayBeNested(raw)
}

// isShortInteger reports a number that every parser reads alike.
func isShortInteger(raw []byte) bool {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	return len(digits) > 0 && len(digits) <= 15 && (len(digits) == 1 || digits[0] != '0') && len(bytes.Trim(digits, "0123456789")) == 0
}

func trimBlank(b []byte) []byte {
	if len(b) > 0 && b[0] == ' ' {
		return b[1:]
	}
	return b
}
