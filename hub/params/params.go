package params

import (
	"fmt"
	"slices"
	"strings"

	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// knownMembers are the members of tools/call params that servers read.
var knownMembers = []string{"name", "arguments", "_meta", "task", modern.MemberResponses, modern.MemberState}

// lookAlike refuses a member that is a known one but for letter case or a NUL
// in it: a child with a lax parser would read it instead of the one that was
// judged.
func lookAlike(where string, members []jsonrpc.Member, knowns []string) error {
	for i := range members {
		m := &members[i]
		if slices.Contains(knowns, m.Name) {
			continue // and like no other: they differ by more than that
		}
		for _, known := range knowns {
			if strings.EqualFold(bareName(m.Name), known) {
				return fmt.Errorf("the member %q of %s is spelled almost like %q; send it exactly so or leave it out", m.Name, where, known)
			}
		}
	}
	return nil
}

// bareName returns a name without NUL, and with the letters i that have a dot too
// many or too few, which EqualFold keeps apart and some lower-casing does not.
func bareName(name string) string {
	if strings.ContainsAny(name, "\x00\u0131\u0130") {
		return strings.NewReplacer("\x00", "", "\u0131", "i", "\u0130", "i").Replace(name)
	}
	return name
}

// Check refuses a member of the params of a request that is a look-alike of one that servers
// read there, and likewise what is in the objects among them.
func Check(m *jsonrpc.Message) error {
	if m.Method == methods.CallTool {
		return lookAlike("params", m.Members, knownMembers)
	}
	known := []string{"_meta", "name", "uri", "arguments", "ref", "argument", "context", "cursor", "level", modern.MemberResponses, modern.MemberState}
	if err := lookAlike("params", m.Members, known); err != nil {
		return err
	}
	for _, object := range [][]string{{"ref", "type", "name", "uri"}, {"argument", "name", "value"}, {"context", "arguments"}} {
		name, inner := object[0], object[1:]
		if err := lookAlike("params."+name, jsonrpc.MembersOf(m.Param(name)), inner); err != nil {
			return err
		}
	}
	return nil
}

// NameIn returns the member of params that names what a request is about: as it was
// sent, and read. The error reports what it should be, or which member looks like
// another.
func NameIn(m *jsonrpc.Message, key, what string) (quoted []byte, value string, err error) {
	if err := Check(m); err != nil {
		return nil, "", err
	}
	quoted = m.Param(key)
	value, ok := jsonrpc.String(quoted)
	if !ok {
		return nil, "", fmt.Errorf("%s needs %s (a string) at /params/%s", m.Method, what, key)
	}
	return quoted, value, nil
}
