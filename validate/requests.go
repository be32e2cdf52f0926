package validate

import (
	"slices"

	"mcphub/internal/methods"
	"mcphub/validate/access"
	"mcphub/validate/names"
	"mcphub/validate/strictjson"
	"mcphub/validate/uri"
)

// ScanURI searches the URI of resources/read and of a subscription. templates are the child's own URI templates: see AddListedTemplate.
func (checker *Checker) ScanURI(child, text string, templates ...string) (*Scan, error) {
	t, err := checker.requestTool(child, methods.ReadResource, methods.ReadResource)
	if err != nil {
		return nil, err
	}
	t.args.URI = true
	found, err := checker.search.URI(&t.args, text, templates...)
	return checker.finishScan(t, found, err)
}

// ScanPrompt searches the arguments of prompts/get: raw, a JSON object.
func (checker *Checker) ScanPrompt(child, prompt string, args []byte) (*Scan, error) {
	t, err := checker.requestTool(child, prompt, methods.GetPrompt)
	if err != nil {
		return nil, err
	}
	return checker.Scan(t, args)
}

// ScanCompletion searches completion/complete: the argument to complete, the arguments given already (raw, a JSON
// object or nil), and the URI that a template makes of them. template is "" for the argument of a prompt.
func (checker *Checker) ScanCompletion(child, template, name, value string, given []byte) (*Scan, error) {
	t, err := checker.requestTool(child, methods.Complete, methods.Complete)
	if err != nil {
		return nil, err
	}
	t.args.URI = template != ""
	found, err := checker.search.Completion(&t.args, template, name, value, given)
	return checker.finishScan(t, found, err)
}

// ScanParams searches the params of a request or notification that this program does not know: raw, a JSON object, or nil
// for none. They are searched as the arguments of a tool without a schema that is called like the method, and a URI
// among them as that of resources/read too.
func (checker *Checker) ScanParams(child, method string, params []byte, templates ...string) (*Scan, error) {
	t, err := checker.requestTool(child, method, method)
	if err != nil {
		return nil, err
	}
	t.args.Traits = names.TraitsOf(method, false, false)
	s, err := checker.Scan(t, params)
	if err != nil {
		return nil, err
	}
	tr := strictjson.New(checker.search.Depth)
	defer tr.Free()
	if err := tr.Parse(params, checker.search.Size); err != nil {
		return nil, err
	}
	if text := tr.Text(0, "uri"); text != "" {
		more, err := checker.ScanURI(child, text, templates...)
		if err != nil {
			return nil, err
		}
		both := *s // that may be of all calls
		both.found.Findings = slices.Concat(s.found.Findings, more.found.Findings)
		return &both, nil
	}
	return s, nil
}

// requestTool returns a Tool that stands for a request that calls no tool. Its role is reading. hub.json declares its
// arguments by name: the prompt's, or the method if there is none. The policy's rules are asked about it by its method.
func (checker *Checker) requestTool(child, name, method string) (*Tool, error) {
	if checker == nil || checker.children[child] == nil {
		return nil, &strictjson.Error{Code: strictjson.CodeSyntax, Message: "no such server is configured"}
	}
	t := checker.joinDeclarations(checker.children[child], "", name, true, false)
	t.args.Traits = names.Traits{Role: access.Read}
	t.ruling = checker.policy.Ruling(child, method)
	return t, nil
}

// MatchesTemplate reports whether a URI may come from an RFC 6570 template.
func MatchesTemplate(template, text string) bool {
	_, ok := uri.Match(template, text)
	return ok
}

// AddListedTemplate adds the URI of a resource as its server lists it, "" for none, to the server's templates, if ScanURI needs it.
func AddListedTemplate(templates []string, listed string) []string {
	return uri.WithListed(templates, listed)
}
