package hub

import (
	"bytes"
	"testing"

	"mcphub/internal/jsonrpc"
)

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
