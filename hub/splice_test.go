package hub

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"mcphub/internal/jsonrpc"
)

// TestSplice compares splice with the obvious way: cut and join strings.
func TestSplice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(rapid.StringN(2, 40, 80).Draw(t, "raw"))
		// Four cuts in order; what is cut out, as a JSON value, is never empty.
		a := rapid.IntRange(0, len(raw)-2).Draw(t, "a")
		b := rapid.IntRange(a+1, len(raw)-1).Draw(t, "b")
		c := rapid.IntRange(b, len(raw)-1).Draw(t, "c")
		d := rapid.IntRange(c+1, len(raw)).Draw(t, "d")
		first, second := edit{raw[a:b], []byte("ONE")}, edit{raw[c:d], []byte("TWO")}
		want := string(raw[:a]) + "ONE" + string(raw[b:c]) + "TWO" + string(raw[d:])
		if got := string(join(splice(raw, first, second))); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if got := string(join(splice(raw, second, first))); got != want {
			t.Fatalf("the order of edits matters: got %q, want %q", got, want)
		}
	})
}

func TestRenamedKeepsEverythingElse(t *testing.T) {
	def := []byte(`{"x-first":1e400, "name" : "old\u0041", "inputSchema":{"$schema":"s","n":9007199254740993,"name":"old"},"name2":"old"}`)
	want := []byte(`{"x-first":1e400, "name" : "new__old", "inputSchema":{"$schema":"s","n":9007199254740993,"name":"old"},"name2":"old"}`)
	if got := renamed(def, "new__old"); !bytes.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCheckMembersRefusesLookAlikes(t *testing.T) {
	for _, name := range []string{"Name", "ARGUMENTS", "argument\u017f", "arguments\x00", "_Meta", "Task"} {
		if checkMembers([]jsonrpc.Member{{Name: "name"}, {Name: name}}) == nil {
			t.Errorf("%q was let through", name)
		}
	}
	ok := []jsonrpc.Member{{Name: "name"}, {Name: "arguments"}, {Name: "_meta"}, {Name: "task"}, {Name: "x-new"}, {Name: "names"}}
	if err := checkMembers(ok); err != nil {
		t.Error(err)
	}
}
