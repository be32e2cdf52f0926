package failure

import (
	"slices"

	"mcphub/children"
	"mcphub/children/hints"
	"mcphub/children/sandbox"
	"mcphub/hub/audit"
	"mcphub/hub/configuration"
	"mcphub/hub/record"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// This file is about answers of a confined child that report what the kernel has refused
// it: the client is told so, and it is recorded.

// MayBeKernelRefusal reports whether an answer, of which the record says word, may report what
// the kernel has refused to whom a lease is for.
func MayBeKernelRefusal(lease *children.Lease, word string, a jsonrpc.Answer) bool {
	switch word {
	case audit.ResultError:
		return lease.StderrHints().MayExplain(a.Error, true)
	case audit.ResultToolError, audit.ResultOK:
		return lease.StderrHints().MayExplain(a.Result, word != audit.ResultOK)
	}
	return false
}

// ExplainKernelRefusal adds to an answer of a child what the kernel has refused it, and records that.
// The child's own words stay as they are, and so does what is no such answer. named are the
// paths of the call. It looks at the file system.
func ExplainKernelRefusal(records *record.Writer, what record.Subject, lease *children.Lease, word string, named []sandbox.Rule, a jsonrpc.Answer) jsonrpc.Answer {
	said, end := a.Error, endOfMessage(a)
	if a.Result != nil {
		said, end = a.Result, endOfContent(a.Result)
	}
	if end == nil {
		return a
	}
	f, ok := lease.StderrHints().ReadResponse(hints.SaidIn(said), named, word != audit.ResultOK)
	if !ok {
		return a
	}
	_, dirs := lease.Workplace()
	records.RecordKernelRefusal(what, f, dirs)
	line := "mcphub: " + hints.Text(f) + "."
	if a.Result == nil {
		quoted := jsonrpc.AppendString(nil, "\n"+line)
		return a.WithEdits(jsonrpc.Edit{Old: end, With: quoted[1:]})
	}
	block := append(jsonrpc.AppendString([]byte(`{"type":"text","text":`), line), '}')
	switch {
	case end[0] == '{': // it has no content
		block = slices.Concat([]byte(`{"content":[`), block, []byte("],"))
	case isEmpty(jsonrpc.Get(a.Result, "content")):
		block = append(block, ']')
	default:
		block = slices.Concat([]byte{','}, block, []byte{']'})
	}
	return a.WithEdits(jsonrpc.Edit{Old: end, With: block})
}

// NamedPaths returns the paths that a verdict was about, with what the call wants there.
func NamedPaths(v *validate.Verdict) (rules []sandbox.Rule) {
	if v == nil {
		return nil
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Target != "" {
			rules = append(rules, sandbox.Rule{Path: f.Target, Access: configuration.AccessOf(policy.Roles(f.Role)) &^ sandbox.Execute})
		}
	}
	return rules
}

// endOfMessage returns the last byte of the text of an error; nil if it has none.
func endOfMessage(a jsonrpc.Answer) []byte {
	raw := jsonrpc.Get(a.Error, "message")
	if _, ok := jsonrpc.String(raw); !ok {
		return nil
	}
	return raw[len(raw)-1:]
}

// endOfContent returns the last byte of the content of a result, or the first one of a result that has
// structured content alone; nil for a result that cannot have a text more.
func endOfContent(result []byte) []byte {
	raw := jsonrpc.Get(result, "content")
	switch {
	case len(raw) > 0 && raw[0] == '[':
		return raw[len(raw)-1:]
	case raw == nil && jsonrpc.Get(result, "structuredContent") != nil:
		return result[:1]
	}
	return nil
}

func isEmpty(list []byte) bool {
	empty := true
	_ = jsonrpc.Elements(list, func([]byte) bool { empty = false; return false })
	return empty
}
