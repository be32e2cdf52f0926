package failure

import (
	"strings"

	"mcphub/children"
	"mcphub/children/hints"
	"mcphub/children/sandbox"
	"mcphub/hub/configuration"
	"mcphub/hub/record"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
	"mcphub/validate/policy"
)

// This file is about answers of a confined child that tell what the kernel has refused it:
// the client is told so, and it is recorded.

// MayBeKernelRefusal reports whether an answer, of which the record says word, may tell what the
// kernel has refused to whom a lease is for.
func MayBeKernelRefusal(lease *children.Lease, word string, a jsonrpc.Answer) bool {
	switch word {
	case audit.ResultError:
		return lease.StderrHints().MayExplain(a.Error)
	case audit.ResultToolError:
		return lease.StderrHints().MayExplain(a.Result)
	case audit.ResultOK:
		return lease.StderrHints().MayExplainResult(a.Result)
	}
	return false
}

// ExplainKernelRefusal adds to an answer of a child what the kernel has refused it, and records that.
// The child's own words stay as they are, and so does what is no such answer. named are the
// paths of the call. It looks at the file system.
func ExplainKernelRefusal(records *record.Writer, what record.Subject, lease *children.Lease, word string, named []sandbox.Rule, a jsonrpc.Answer) jsonrpc.Answer {
	text, at := answerText(a)
	if at == nil {
		return a
	}
	f, ok := lease.StderrHints().ReadResponse(text, named, word == audit.ResultOK)
	if !ok {
		return a
	}
	_, dirs := lease.Where()
	records.KernelRefused(what, f, dirs)
	line := "mcphub: " + hints.Text(f) + "."
	if a.Result == nil { // the end of the message
		quoted := jsonrpc.AppendString(nil, "\n"+line)
		return a.Edited(jsonrpc.Edit{Old: at, With: quoted[1:]})
	}
	block := jsonrpc.AppendString([]byte(`{"type":"text","text":`), line)
	return a.Edited(jsonrpc.Edit{Old: at, With: append([]byte{','}, append(block, '}', ']')...)})
}

// NamedPaths are the paths that a verdict was about, with what the call wants there.
func NamedPaths(v *validate.Verdict) (rules []sandbox.Rule) {
	if v == nil {
		return nil
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Leads != "" {
			rules = append(rules, sandbox.Rule{Path: f.Leads, Access: configuration.AccessOf(policy.Roles(f.Role)) &^ sandbox.Execute})
		}
	}
	return rules
}

// answerText is what an answer says. at is its last byte, to which more is added; nil where
// that cannot be.
func answerText(a jsonrpc.Answer) (text string, at []byte) {
	if a.Result == nil {
		raw := jsonrpc.Get(a.Error, "message")
		text, ok := jsonrpc.String(raw)
		if !ok {
			return "", nil
		}
		if data, ok := jsonrpc.String(jsonrpc.Get(a.Error, "data")); ok {
			text += "\n" + data
		}
		return text, raw[len(raw)-1:]
	}
	raw := jsonrpc.Get(a.Result, "content")
	var parts []string
	if err := jsonrpc.Elements(raw, func(block []byte) bool {
		if part, ok := jsonrpc.String(jsonrpc.Get(block, "text")); ok {
			parts = append(parts, part)
		}
		return true
	}); err != nil || parts == nil {
		return "", nil
	}
	return strings.Join(parts, "\n"), raw[len(raw)-1:]
}
