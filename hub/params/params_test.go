package params

import (
	"testing"

	"mcphub/internal/jsonrpc"
)

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
