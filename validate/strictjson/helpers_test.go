package strictjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// outcome writes an error in a few words: the code and the pointer, "" for none.
func outcome(err error) string {
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return "no Error: " + err.Error()
	}
	return strings.TrimRight(e.Code+" "+e.Pointer, " ")
}

// parsed returns the tree of arguments that nothing is wrong with.
func parsed(t *testing.T, args string) *Tree {
	t.Helper()
	tr := New(DefaultDepth)
	if err := tr.Parse([]byte(args), DefaultSize); err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return tr
}

// at returns the value at a pointer.
func at(t *testing.T, tr *Tree, pointer string) int32 {
	t.Helper()
	id := tr.Lookup(pointer)
	if id < 0 {
		t.Fatalf("nothing at %q", pointer)
	}
	return id
}

// written returns a value as the tree has it, member by member. What was read inside a string stands between angle brackets.
func written(tr *Tree, id int32) string {
	n := &tr.Nodes[id]
	if tr.IsNested(id) {
		return "<" + written(tr, n.First) + ">"
	}
	if n.Kind < Array {
		return string(tr.Whole(id))
	}
	var list []string
	for c := n.First; c > 0; c = tr.Nodes[c].Next {
		member := written(tr, c)
		if tr.IsMember(c) {
			member = tr.Name(c) + ":" + member
		}
		list = append(list, member)
	}
	if n.Kind == Object {
		return "{" + strings.Join(list, ",") + "}"
	}
	return "[" + strings.Join(list, ",") + "]"
}

// quoted returns a text as a JSON string.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
