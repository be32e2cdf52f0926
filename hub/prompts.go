package hub

import (
	"context"
	"errors"

	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// list answers one of the lists, after the children that are still starting
// have had their time.
func (s *Session) list(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	k := catalog.KindOf(m.Method)
	s.AwaitOffers(ctx)
	if s.hub.now().Inspect {
		s.AwaitStarted(ctx) // a command asks what there is, and not for the quickest answer
	}
	var p *catalog.Pages
	s.notifier.Seen(int(k), func() string {
		p = s.Catalog().Pages(k)
		return p.Digest
	})
	return p.At(m.Param("cursor"))
}

// getPrompt answers prompts/get.
func (s *Session) getPrompt(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if err := checkParams(m); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	quoted, name, err := stringAt(m, "name", "the name of a prompt")
	if err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	ctx = s.withNotice(ctx, tokenOf(m))
	it, refusal := s.findPrompt(ctx, name)
	if it.Item == nil {
		return refusal
	}
	c := &Call{s: s, token: tokenOf(m), request: splicingOf(m, quoted, it.Remote), target: &requestTarget{
		gen: it.By, child: it.Child, name: m.Method,
		look: func([]string) (*validate.Scan, error) {
			return it.By.Checker.ScanPrompt(it.Child, it.Remote, m.Param("arguments"))
		},
	}}
	a, err := c.run(ctx)
	if errors.Is(err, configuration.ErrSuperseded) {
		return s.getPrompt(ctx, m)
	}
	return a
}

// findPrompt finds a prompt by its name towards the client, after the children
// that it may belong to have had their time to start.
func (s *Session) findPrompt(ctx context.Context, name string) (it offering.Item, refusal jsonrpc.Answer) {
	find := func() bool {
		l := s.Catalog()
		it = offering.Item{Item: l.Item(catalog.Prompts, name), By: l.By}
		return it.Item != nil
	}
	if find() {
		return it, jsonrpc.Answer{}
	}
	found, down := s.await(ctx, s.hub.now().Offers.Owners(name), find)
	switch {
	case found:
		return it, jsonrpc.Answer{}
	case ctx.Err() != nil:
		return offering.Item{}, gone(ctx, nil)
	case down != "":
		return offering.Item{}, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, down)
	}
	return offering.Item{}, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "there is no prompt "+quotedName(name)+"; prompts/list tells what there is")
}

func quotedName(s string) string { return `"` + shown(s, 100) + `"` }

// complete answers completion/complete.
func (s *Session) complete(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if err := checkParams(m); err != nil {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, err.Error())
	}
	ctx = s.withNotice(ctx, tokenOf(m))
	ref, argument := m.Param("ref"), m.Param("argument")
	refType, _ := jsonrpc.String(jsonrpc.Get(ref, "type"))
	name, named := jsonrpc.String(jsonrpc.Get(argument, "name"))
	value, valued := jsonrpc.String(jsonrpc.Get(argument, "value"))
	if !named || !valued {
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "completion/complete needs an argument with name and value (strings) at /params/argument")
	}
	var it offering.Item
	var quoted []byte
	template := ""
	switch refType {
	case "ref/prompt":
		quoted = jsonrpc.Get(ref, "name")
		text, _ := jsonrpc.String(quoted)
		var refusal jsonrpc.Answer
		if it, refusal = s.findPrompt(ctx, text); it.Item == nil {
			return refusal
		}
	case "ref/resource":
		quoted = jsonrpc.Get(ref, "uri")
		text, _ := jsonrpc.String(quoted)
		if it = s.findTemplate(ctx, text); it.Item == nil {
			return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, "there is no resource template "+quotedName(text)+"; resources/templates/list tells what there is")
		}
		template = it.Remote
	default:
		return jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, `completion/complete needs a ref of type "ref/prompt" or "ref/resource" at /params/ref`)
	}
	c := &Call{s: s, token: tokenOf(m), request: splicingOf(m, quoted, it.Remote), target: &requestTarget{
		gen: it.By, child: it.Child, name: m.Method, unaskable: "nobody is asked while something is typed",
		look: func([]string) (*validate.Scan, error) {
			return it.By.Checker.ScanCompletion(it.Child, template, name, value, jsonrpc.Get(m.Param("context"), "arguments"))
		},
	}}
	a, err := c.run(ctx)
	if errors.Is(err, configuration.ErrSuperseded) {
		return s.complete(ctx, m)
	}
	return a
}
