package call

import (
	"mcphub/hub/offering"
	"mcphub/internal/jsonrpc"
)

// This file adds the arguments that hub.json sets to calls of tools, before anything is judged.

// setArguments returns the request of a tools/call with the arguments that hub.json sets for the tool. What is judged and sent from
// then on are parts of it. With an error, which is a *fixed.GivenError, it is the request of the client.
func setArguments(m *jsonrpc.Message, tool offering.Tool) (*jsonrpc.Message, error) {
	if len(tool.Set) == 0 {
		return m, nil
	}
	args, err := tool.WithSet(m.Param("arguments"))
	if err != nil {
		return m, err
	}
	params := jsonrpc.AppendMembers([]byte{'{'}, m.Params, func(name string) bool { return name != "arguments" })
	params = append(jsonrpc.AppendMember(params, "arguments", args), '}')
	set := *m
	set.Params, set.Members = params, jsonrpc.MembersOf(params)
	return &set, nil
}
