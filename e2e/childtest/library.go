package childtest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// handleLibrary serves what a child with Script.Library offers beside tools. What it
// was asked comes back as it was sent, so that a test sees what reached it.
func (p *player) handleLibrary(m message) bool {
	uri := func() string {
		var params struct{ URI string }
		_ = json.Unmarshal(m.Params, &params)
		return params.URI
	}
	switch m.Method {
	case "prompts/list":
		if said, err := os.ReadFile(p.s.Withheld); err == nil {
			switch string(said) {
			case "refused":
				p.sendError(m.ID, -32000, "withheld")
			case "empty":
				p.answerRaw(m.ID, `{"prompts":[]}`)
			}
			return true
		}
		p.answerRaw(m.ID, `{"prompts":[{"name":"greet","x-odd":1.0,"arguments":[{"name":"path"}]},{"name":5}]}`)
	case "prompts/get":
		p.answerRaw(m.ID, fmt.Sprintf(`{"description":"got","messages":[],"params":%s}`, m.Params))
	case "resources/list":
		var b strings.Builder
		b.WriteString(`{"resources":[{"uri":"note://1","name":"one","n":1e2}`)
		for i := range p.s.Books {
			fmt.Fprintf(&b, `,{"uri":"book://%d","name":"b"}`, i)
		}
		p.answerRaw(m.ID, b.String()+`]}`)
	case "resources/templates/list":
		p.answerRaw(m.ID, `{"resourceTemplates":[{"uriTemplate":"note://{id}","name":"t"},{"uriTemplate":"file://local/{path}","name":"f"}]}`)
	case "resources/read":
		if strings.HasPrefix(uri(), "gone:") {
			p.sendError(m.ID, -32002, "not here")
			return true
		}
		p.answerRaw(m.ID, fmt.Sprintf(`{"contents":[{"uri":%q,"text":%q}]}`, uri(), string(m.Params)))
	case "completion/complete":
		p.answerRaw(m.ID, fmt.Sprintf(`{"completion":{"values":[],"total":0},"params":%s}`, m.Params))
	case "resources/subscribe":
		p.sendResult(m.ID, struct{}{})
		p.ownPlayer().sendLine(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q,"v":1.0}}`, uri())
	case "resources/unsubscribe":
		p.sendResult(m.ID, struct{}{})
	default:
		return false
	}
	return true
}

// answerRaw answers with a result as it is written; a request without a handshake
// learns that it is complete, if the result does not report what it is.
func (p *player) answerRaw(id json.RawMessage, result string) {
	p.mu.Lock()
	modern := p.modern[string(id)]
	delete(p.modern, string(id))
	p.mu.Unlock()
	if rest, ok := strings.CutPrefix(result, "{"); ok && modern && !strings.Contains(result, `"resultType"`) {
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"public",` + rest
		if rest == "}" {
			result = `{"resultType":"complete"}`
		}
	}
	p.sendLine(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}
