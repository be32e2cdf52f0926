package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// offers are what is listed beside tools with -offers, by the method that lists it. Each of them answers with the members of
// an envelope that the request itself holds, as hexadecimal digits: see say.
var offers = map[string]string{
	"prompts/list":             `{"prompts":[{"name":"made_up","description":"Answers as it is told.","arguments":[{"name":"hex","required":true}]}]}`,
	"resources/list":           `{"resources":[{"uri":"made:up","name":"Nothing in particular"}]}`,
	"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"made:up:{hex}","name":"Answers as it is told"}]}`,
}

const offersCapabilities = `,"prompts":{"listChanged":true},"resources":{"listChanged":true},"completions":{}`

// offered answers a request that concerns something else than tools, and reports whether it was one.
func (s *server) offered(id json.RawMessage, method string, params json.RawMessage) bool {
	if list, ok := offers[method]; ok {
		s.result(id, []byte(list))
		return true
	}
	var p struct {
		URI       string
		Arguments struct{ Hex string }
		Argument  struct{ Value string }
	}
	_ = json.Unmarshal(params, &p)
	digits := ""
	switch method {
	case "prompts/get":
		digits = p.Arguments.Hex
	case "resources/read":
		digits = strings.TrimPrefix(p.URI, "made:up:")
	case "completion/complete":
		digits = p.Argument.Value
	default:
		return false
	}
	if said := unhex(digits); strings.HasPrefix(said, `"`) { // a member; other digits are digits, and the line would be none
		s.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, id, said))
	} else {
		s.fail(id, -32602, "told nothing")
	}
	return true
}
