package params

import (
	"testing"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

func TestCheckRefusesLookAlikes(t *testing.T) {
	t.Parallel()
	check := func(members ...jsonrpc.Member) error {
		return Check(&jsonrpc.Message{Method: methods.CallTool, Members: members})
	}
	for _, name := range []string{"Name", "ARGUMENTS", "argument\u017f", "arguments\x00", "_Meta", "Task"} {
		if check(jsonrpc.Member{Name: "name"}, jsonrpc.Member{Name: name}) == nil {
			t.Errorf("%q was let through", name)
		}
	}
	ok := []jsonrpc.Member{{Name: "name"}, {Name: "arguments"}, {Name: "_meta"}, {Name: "task"}, {Name: "x-new"}, {Name: "names"}}
	if err := check(ok...); err != nil {
		t.Error(err)
	}
}
