package tracing

import "strings"

// Bounds of what is passed on, in bytes and members: what the specifications want to be
// passed on at least. A traceparent of a later version may be longer than the version of
// today.
const (
	maxParent  = 128
	maxState   = 512
	maxStates  = 32
	maxBaggage = 8192
	maxItems   = 64
)

// Names of a context, in _meta and, but for the case, of headers.
const (
	Parent  = "traceparent"
	State   = "tracestate"
	Baggage = "baggage"
)

// A Context describes what trace a request is part of. Its texts are valid, or "" for none;
// there is a State only with a Parent.
type Context struct {
	Parent, State, Baggage string
}

// Checked is as much of a context as may be passed on.
func Checked(parent, state, baggage string) Context {
	var c Context
	if validParent(parent) {
		c.Parent = parent
		if validList(state, maxState, maxStates, stateMember) {
			c.State = state
		}
	}
	if validList(baggage, maxBaggage, maxItems, baggageMember) {
		c.Baggage = baggage
	}
	return c
}

// Or returns c. What c lacks is taken from other.
func (c Context) Or(other Context) Context {
	if c.Parent == "" {
		c.Parent, c.State = other.Parent, other.State
	}
	if c.Baggage == "" {
		c.Baggage = other.Baggage
	}
	return c
}

// validParent reports whether a traceparent is one (Trace Context, 3.2.2): version, trace,
// parent and flags, in lower-case hexadecimals, of which a later version may have more.
func validParent(s string) bool {
	const version, trace, parent, flags = 2, 35, 52, 55 // where each of them ends
	if len(s) < flags || len(s) > maxParent || s[version] != '-' || s[trace] != '-' || s[parent] != '-' {
		return false
	}
	if s[:version] == "00" && len(s) > flags || s[:version] == "ff" || len(s) > flags && s[flags] != '-' {
		return false
	}
	id, from := s[version+1:trace], s[trace+1:parent]
	if strings.Trim(id, "0") == "" || strings.Trim(from, "0") == "" {
		return false
	}
	return isHexadecimal(s[:version]) && isHexadecimal(id) && isHexadecimal(from) && isHexadecimal(s[parent+1:flags]) && isPrintable(s[flags:])
}

func isHexadecimal(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isPrintable reports whether a text has nothing but visible ASCII and blanks.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// validList reports whether a text is a list of members, divided by commas, within bounds.
func validList(s string, most, members int, valid func(string) bool) bool {
	if s == "" || len(s) > most || strings.Count(s, ",") >= members {
		return false
	}
	for member := range strings.SplitSeq(s, ",") {
		if !valid(strings.Trim(member, " \t")) {
			return false
		}
	}
	return true
}

// stateMember reports whether a member of tracestate is one (Trace Context, 3.3.1.3); an empty
// one may be there.
func stateMember(s string) bool {
	if s == "" {
		return true
	}
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" || len(key) > 256 || value == "" || len(value) > 256 || !isPrintable(value) || strings.Contains(value, "=") {
		return false
	}
	for i := range len(key) {
		c := key[i]
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("_-*/@", rune(c))) {
			return false
		}
	}
	return true
}

// baggageMember reports whether a member of baggage has a name and is of the characters that
// one is spelled in (Baggage, 3.3.1).
func baggageMember(s string) bool {
	key, _, ok := strings.Cut(s, "=")
	return ok && strings.Trim(key, " \t") != "" && isPrintable(s) && !strings.ContainsAny(s, `"\`)
}
