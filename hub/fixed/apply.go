package fixed

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/validate/strictjson"
)

// An Argument has a value that hub.json gives.
type Argument struct {
	Path  []string // names of members, from the outside in; at least one
	Value []byte   // raw
}

// Pointer returns the JSON pointer of the argument.
func (a *Argument) Pointer() string { return pointerOf(a.Path) }

// Equal reports whether two arguments are the same, and have the same value.
func (a Argument) Equal(b Argument) bool {
	return slices.Equal(a.Path, b.Path) && string(a.Value) == string(b.Value)
}

func pointerOf(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + strictjson.EscapeToken(name))
	}
	return b.String()
}

// A GivenError reports that a client gives a value for an argument that has one of hub.json, or may do so.
type GivenError struct {
	Pointer string // of the argument
	At      string // of what the client gives
}

func (e *GivenError) Error() string {
	given, at := printable.Quote(e.Pointer), printable.Quote(e.At)
	switch {
	case e.At == e.Pointer:
		return fmt.Sprintf("the argument %s has a value that only the operator of this hub changes; leave it out", given)
	case strings.HasPrefix(e.Pointer, e.At+"/") || e.At == "":
		return fmt.Sprintf("the argument %s must be an object: the operator of this hub has set %s in it", at, given)
	}
	return fmt.Sprintf("the argument %s may be taken for %s, whose value only the operator of this hub changes; leave it out", at, given)
}

// Apply returns the arguments of a call with the values of hub.json. args are raw; nil, or null, are none. It does not check whether
// they are strict JSON: a member that occurs twice stays in what it returns. The error is a *GivenError.
func Apply(args []byte, set []Argument) ([]byte, error) {
	if args == nil || string(args) == "null" {
		args = []byte("{}")
	}
	for i := range set {
		a := &set[i]
		var err error
		if args, err = setIn(args, a, 0); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// setIn sets the argument in an object that lies depth names deep.
func setIn(object []byte, a *Argument, depth int) ([]byte, error) {
	refuse := func(name ...string) error {
		return &GivenError{a.Pointer(), pointerOf(slices.Concat(a.Path[:depth], name))}
	}
	if !jsonrpc.IsObject(object) {
		return nil, refuse()
	}
	name, last := a.Path[depth], depth == len(a.Path)-1
	var inner []byte
	for _, m := range jsonrpc.MembersOf(object) {
		switch {
		case !last && m.Name == name && inner == nil:
			inner = m.Value
		case isLikeStart(m.Name, a.Path[depth:]):
			return nil, refuse(m.Name)
		}
	}
	if inner != nil {
		edited, err := setIn(inner, a, depth+1)
		if err != nil {
			return nil, err
		}
		return jsonrpc.Join(jsonrpc.Splice(object, jsonrpc.Edit{Old: inner, With: edited})), nil
	}
	value := a.Value
	for _, name := range slices.Backward(a.Path[depth+1:]) {
		value = append(jsonrpc.AppendMember([]byte{'{'}, name, value), '}')
	}
	return withMember(object, name, value), nil
}

// withMember adds a member to an object.
func withMember(object []byte, name string, value []byte) []byte {
	added := jsonrpc.AppendMember([]byte{'{'}, name, value)
	if len(jsonrpc.MembersOf(object)) > 0 {
		added = append(added, ',')
	}
	return slices.Concat(added, object[1:])
}

// isLikeStart reports whether a server may take a name for the first names of a path, of one or of several that it joins: some read
// "repo.owner", "repo[owner]" and "repoOwner" as owner in repo.
func isLikeStart(name string, path []string) bool {
	name = foldName(name)
	joined := ""
	for _, next := range path {
		if joined += foldName(next); joined == name {
			return true
		}
	}
	return false
}

// foldName returns what names have in common that a server may take for each other: their letters and digits, whatever their case, width
// and shape.
func foldName(name string) string {
	name = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
	return strings.Map(func(r rune) rune {
		switch {
		case r == 'ı':
			return 'i'
		case unicode.IsLetter(r), unicode.IsDigit(r):
			return r
		}
		return -1
	}, name)
}
