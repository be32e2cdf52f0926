package call

import (
	"context"

	"mcphub/children/offers"
	"mcphub/hub/failure"
	"mcphub/hub/offering"
	"mcphub/hub/params"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

// ServePrompt answers prompts/get.
func (s *Sender) ServePrompt(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	quoted, name, err := params.NameIn(m, "name", "the name of a prompt")
	if err != nil {
		return jsonrpc.RefuseParams(err.Error())
	}
	ctx = s.contextWithLogins(s.contextWithNotice(ctx, progressTokenOf(m)))
	return s.retryOnReload(ctx, func(ctx context.Context) (jsonrpc.Answer, error) {
		prompt, refusal := s.findPrompt(ctx, name)
		if prompt.Item == nil {
			return refusal, nil
		}
		return s.SendPrompt(ctx, m, quoted, prompt)
	})
}

// SendPrompt asks a child for a prompt that was looked up by its quoted name. It returns the answer
// and the error of Call.JudgeAndSend.
func (s *Sender) SendPrompt(ctx context.Context, m *jsonrpc.Message, quoted []byte, prompt offering.Item) (jsonrpc.Answer, error) {
	listed := prompt.OwnName
	if prompt.NameOnly {
		listed = ""
	}
	return s.sendRequest(ctx, m, quoted, prompt.OwnName, &requestTarget{
		conf: prompt.Conf, child: prompt.Child, method: m.Method, prompt: listed, listed: listed, kind: offers.Prompts,
		scanWith: func([]string) (*validate.Scan, error) {
			return prompt.Conf.Checker.ScanPrompt(prompt.Child, prompt.OwnName, m.Param("arguments"))
		},
	})
}

// findPrompt finds a prompt by its name towards the client, after the children
// that it may belong to have had their time to start.
func (s *Sender) findPrompt(ctx context.Context, name string) (prompt offering.Item, refusal jsonrpc.Answer) {
	find := func() bool {
		l := s.Offering.Catalog()
		prompt = offering.Item{Item: l.Item(offers.Prompts, name), Conf: l.Conf}
		return prompt.Item != nil
	}
	found, down := s.awaitListed(ctx, func() []string { return s.possibleOwners(name) }, find)
	switch {
	case found:
		return prompt, jsonrpc.Answer{}
	case ctx.Err() != nil:
		return offering.Item{}, failure.AnswerEnded(ctx, nil)
	case down != "":
		return offering.Item{}, jsonrpc.AnswerFailure(down)
	}
	conf := s.Current.InForce()
	if child, ownName, isUnlisted := s.splitUnlisted(conf, name, offers.Prompts); isUnlisted {
		if prompt := conf.CatalogBuilder.UnlistedItem(child, ownName); prompt != nil {
			return offering.Item{Item: prompt, Conf: conf}, jsonrpc.Answer{}
		}
	}
	return offering.Item{}, jsonrpc.RefuseParams(texts.NoPrompt(name))
}

// ServeCompletion answers completion/complete.
func (s *Sender) ServeCompletion(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if err := params.Check(m); err != nil {
		return jsonrpc.RefuseParams(err.Error())
	}
	ctx = s.contextWithNotice(ctx, progressTokenOf(m))
	return s.retryOnReload(ctx, func(ctx context.Context) (jsonrpc.Answer, error) { return s.sendCompletion(ctx, m) })
}

func (s *Sender) sendCompletion(ctx context.Context, m *jsonrpc.Message) (jsonrpc.Answer, error) {
	ref, argument := m.Param("ref"), m.Param("argument")
	refType, _ := jsonrpc.GetString(ref, "type")
	name, hasName := jsonrpc.GetString(argument, "name")
	value, hasValue := jsonrpc.GetString(argument, "value")
	if !hasName || !hasValue {
		return jsonrpc.RefuseParams(texts.Lacks(m.Method, "an argument with name and value (strings)", "/params/argument")), nil
	}
	var completed offering.Item
	var quoted []byte
	template := ""
	switch refType {
	case "ref/prompt":
		quoted = jsonrpc.Get(ref, "name")
		text, _ := jsonrpc.String(quoted)
		var refusal jsonrpc.Answer
		if completed, refusal = s.findPrompt(ctx, text); completed.Item == nil {
			return refusal, nil
		}
	case "ref/resource":
		quoted = jsonrpc.Get(ref, "uri")
		text, _ := jsonrpc.String(quoted)
		if completed = s.findTemplate(ctx, text); completed.Item == nil {
			return jsonrpc.RefuseParams(texts.NoTemplate(text)), nil
		}
		template = completed.OwnName
	default:
		return jsonrpc.RefuseParams(texts.Lacks(m.Method, `a ref of type "ref/prompt" or "ref/resource"`, "/params/ref")), nil
	}
	return s.sendRequest(ctx, m, quoted, completed.OwnName, &requestTarget{
		conf: completed.Conf, child: completed.Child, method: m.Method, unaskable: "nobody is asked while something is typed",
		scanWith: func([]string) (*validate.Scan, error) {
			return completed.Conf.Checker.ScanCompletion(completed.Child, template, name, value, jsonrpc.Get(m.Param("context"), "arguments"))
		},
	})
}
