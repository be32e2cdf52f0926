package childtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// protocolPrefixes begin the methods that a child with Script.Offers leaves to
// the rest of the script.
var protocolPrefixes = []string{
	"initialize", "ping", "server/", "subscriptions/", "tools/", "prompts/", "resources/list", "resources/templates/", "resources/read", "resources/subscribe",
	"resources/unsubscribe", "completion/", "logging/", "tasks/", "notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/",
}

// Extended is what the result of a method that no version of the protocol knows
// looks like: what the child was sent comes back as it was, among numbers that
// few parsers keep.
const Extended = `{"n":12345678901234567890,"z":1.0,"sent":%s,"_meta":{"x":1e2},"a":0}`

// handleExtended serves what a script says about single methods, and of a child
// with Script.Offers the methods that the protocol does not know.
func (p *player) handleExtended(m message) bool {
	if reply, ok := p.s.Replies[m.Method]; ok && m.ID != nil {
		p.answerRaw(m.ID, reply)
		return true
	}
	if refusal, ok := p.s.Errors[m.Method]; ok && m.ID != nil {
		p.sendLine(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, refusal)
		return true
	}
	if p.s.Skills != nil && p.handleSkills(m) {
		return true
	}
	if p.s.Offers == "" || m.Method == "" || slices.ContainsFunc(protocolPrefixes, func(prefix string) bool { return strings.HasPrefix(m.Method, prefix) }) {
		return false
	}
	sent := string(m.Params)
	if sent == "" {
		sent = "null"
	}
	p.mu.Lock()
	p.notes = append(p.notes, m.Method+" "+sent)
	p.mu.Unlock()
	if m.ID != nil {
		p.answerRaw(m.ID, fmt.Sprintf(Extended, sent))
	}
	return true
}

// addCapabilities are the capabilities that a script adds.
func (p *player) addCapabilities(caps map[string]any) {
	var more map[string]json.RawMessage
	_ = json.Unmarshal([]byte(p.s.Offers), &more)
	if p.s.Skills != nil {
		caps["resources"], caps["extensions"] = struct{}{}, json.RawMessage(`{"io.modelcontextprotocol/skills":{"directoryRead":true}}`)
	}
	for name, value := range more {
		caps[name] = value
	}
}
