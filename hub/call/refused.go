package call

import (
	"fmt"
	"path/filepath"
	"strings"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/hub/configuration"
	"mcphub/internal/audit"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file is about errors of a confined child that come from the kernel: the client is
// told so, and what to do.

// mayBeKernels reports whether an answer, of which the record says word, may be an error
// by which the kernel has refused something to whom a lease is for.
func mayBeKernels(lease *children.Lease, word string, a jsonrpc.Answer) bool {
	switch word {
	case audit.ResultError, audit.ResultToolError:
		return lease.Kernel().Profile != nil && (sandbox.SpeaksOfRefusal(a.Error) || sandbox.SpeaksOfRefusal(a.Result))
	}
	return false
}

// refusedByKernel adds to an error of a child what the kernel has refused, and how it is
// allowed. The child's own words stay as they are, and so does what is no such error. It
// looks at the file system.
func refusedByKernel(g *configuration.Configuration, child string, lease *children.Lease, a jsonrpc.Answer) jsonrpc.Answer {
	text, at := errorText(a)
	if at == nil {
		return a
	}
	r, ok := lease.Refused(text)
	if !ok {
		return a
	}
	line := refusalText(g, child, r)
	if a.Result == nil { // the end of the message
		quoted := jsonrpc.AppendString(nil, "\n"+line)
		return a.Edited(jsonrpc.Edit{Old: at, With: quoted[1:]})
	}
	block := jsonrpc.AppendString([]byte(`{"type":"text","text":`), line)
	return a.Edited(jsonrpc.Edit{Old: at, With: append([]byte{','}, append(block, '}', ']')...)})
}

// errorText is what an error says. at is its last byte, to which more is added; nil where
// that cannot be.
func errorText(a jsonrpc.Answer) (text string, at []byte) {
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

// refusalText says what the kernel has refused, and what would allow it.
func refusalText(g *configuration.Configuration, child string, r sandbox.Refusal) string {
	const who = "mcphub: the kernel holds this server to its roots and to its sandbox entry"
	spec := &g.Child(child).Spec
	switch b := (sandbox.Boundary{Withheld: g.Checker.Withheld(child)}); {
	case r.Path == "":
		return fmt.Sprintf("%s, which may be the reason. %s", who, r.Cure(child, ""))
	case b.Keeps(r.Path):
		return fmt.Sprintf("%s. '%s' is outside of these, and the hub withholds it from every server: it cannot be allowed.", who, printable.Escape(r.Path, 200))
	default:
		what := "is outside of these"
		if r.Access&sandbox.Write != 0 {
			what += ", or may only be read"
		}
		at := spec.Sandbox.At
		if at != "" {
			at = filepath.Base(at) // the folder is nobody's business there
		}
		return fmt.Sprintf("%s. '%s' %s. %s", who, printable.Escape(r.Path, 200), what, r.Cure(child, at))
	}
}
