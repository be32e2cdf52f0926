package text

import (
	"bytes"
	"strings"

	"mcphub/validate/chars"
)

// This file has cheap looks at a string, which report that a closer one would find nothing.

// MayBePath is a cheap look at raw bytes: no string without one of these can be a path by itself.
func MayBePath(raw []byte) bool {
	return bytes.ContainsAny(raw, `/\~$:%=`) || MayBeOption(raw) || string(raw) == ".."
}

// MayBeOption is a cheap look at raw bytes: an option may have a path as its value.
func MayBeOption(raw []byte) bool {
	trimmed := bytes.TrimLeft(raw, " \"'")
	return len(trimmed) > 2 && trimmed[0] == '-'
}

// MayBeNested reports a string that may hold a JSON object or array. It is not decoded yet.
func MayBeNested(raw []byte) bool {
	raw = bytes.TrimLeftFunc(raw, IsStripped)
	if len(raw) < 2 {
		return false
	}
	switch raw[0] {
	case '{', '[', '\\':
		return true
	case '/':
		return (raw[1] == '/' || raw[1] == '*') && bytes.ContainsAny(raw, "{[") // behind a comment
	}
	return false
}

// IsStripped reports a character that a child may strip off a text before it parses it: an edge, but no quote or bracket.
func IsStripped(r rune) bool { return chars.IsEdge(r) && !strings.ContainsRune("\"'`<>", r) }

// IsFlagged reports a string that begins with an option, followed by a blank or by code.
func IsFlagged(s string) bool {
	return len(s) > 2 && s[0] == '-' && (chars.IsLetter(s[1]) || s[1] == '-' && chars.IsLetter(s[2])) && (chars.HasBlank(s) || strings.ContainsAny(s, "'\"("))
}
