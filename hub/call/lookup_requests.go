package call

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/hub/catalog"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/offering"
	"mcphub/hub/params"
	"mcphub/hub/results"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
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

// ResourceSources returns the children that may have a resource, the likeliest first, once
// it is known what they offer, and the catalogue that they are in. isComplete: no other child can have it. No child has what the hub
// itself keeps.
func (s *Sender) ResourceSources(ctx context.Context, uri string) (list []offering.ResourceSource, isComplete bool, l *offering.Catalog) {
	l = s.Offering.Catalog()
	if results.IsResult(uri) {
		return nil, true, l
	}
	if l.Item(offers.Resources, uri) == nil {
		l = s.Offering.AwaitCatalog(ctx)
	}
	w := l.Sources(uri)
	for _, at := range slices.Concat(w.Likely, w.Unread, w.SameScheme, w.Others) {
		list = append(list, offering.ResourceSource{ResourceSource: at, Conf: l.Conf})
	}
	return list, w.Certain, l
}

// findTemplate finds a template, or a resource, by what the client knows it by.
func (s *Sender) findTemplate(ctx context.Context, uri string) offering.Item {
	l := s.Offering.Catalog()
	if l.Reference(uri) == nil {
		l = s.Offering.AwaitCatalog(ctx)
	}
	it := l.Reference(uri)
	if it == nil {
		it = l.Addressed(uri)
	}
	return offering.Item{Item: it, Conf: l.Conf}
}

// maxSources bounds how many children are asked for one resource.
const maxSources = 16

// ServeResource answers resources/read. What was cut of a result the hub has itself. If it is not known whose a resource
// is, the children are asked in turn until one has it: each is judged first.
func (s *Sender) ServeResource(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	quoted, uri, err := params.NameIn(m, "uri", "a URI")
	if err != nil {
		return jsonrpc.RefuseParams(err.Error())
	}
	if results.IsResult(uri) {
		return s.Results.Read(ctx, uri)
	}
	ctx = s.contextWithLogins(s.contextWithNotice(ctx, progressTokenOf(m)))
	return s.retryOnReload(ctx, func(ctx context.Context) (jsonrpc.Answer, error) {
		list, isComplete, _ := s.ResourceSources(ctx, uri)
		answer, from, err := s.AskInOrder(ctx, uri, list, isComplete, func(from offering.ResourceSource) (jsonrpc.Answer, error) {
			return s.SendAboutResource(ctx, m, from, quoted, nil)
		})
		if err == nil && answer.Error == nil {
			answer = s.Offering.Catalog().WithURIs(from.Child, uri, from.URI, answer)
		}
		return answer, err
	})
}

// AskInOrder asks the children that may have a resource, the likeliest first, until one has it. If none has it, the answer is the answer
// of the likeliest child that knows the request at all, or names the children that could not be asked. ErrSuperseded: a reload came
// between, and the caller looks it up again.
func (s *Sender) AskInOrder(ctx context.Context, uri string, list []offering.ResourceSource, isComplete bool, ask func(offering.ResourceSource) (jsonrpc.Answer, error)) (jsonrpc.Answer, offering.ResourceSource, error) {
	said := failure.NoResource(uri)
	for i, from := range list {
		if i == maxSources || ctx.Err() != nil {
			break
		}
		answer, err := ask(from)
		switch {
		case errors.Is(err, configuration.ErrSuperseded):
			return answer, from, err
		case errors.Is(err, errDenied):
			return answer, from, nil
		case answer.Error == nil || isComplete || !notFound(answer):
			return answer, from, nil
		}
		if i == 0 || jsonrpc.ParseError(said.Error).Code == jsonrpc.CodeMethodNotFound {
			said, answer = answer, said
		}
		answer.Free()
	}
	if away := s.unknownChildren(); len(away) > 0 && !isComplete && ctx.Err() == nil {
		said.Free()
		said = failure.NoResource(uri, away...)
	}
	return said, offering.ResourceSource{}, nil
}

// unknownChildren returns the children of which it is not known what they have.
func (s *Sender) unknownChildren() []string {
	return slices.DeleteFunc(s.Current.InForce().ServedNames(), func(child string) bool {
		_, of := s.Offering.StatusAndOffer(child)
		return of != nil
	})
}

// SendAboutResource makes a request about one resource of one child. It returns the
// answer and the error of Call.JudgeAndSend; what a reload came between is made again here, as
// long as the child is the same.
func (s *Sender) SendAboutResource(ctx context.Context, m *jsonrpc.Message, from offering.ResourceSource, quoted []byte, before func(*children.Lease) error) (jsonrpc.Answer, error) {
	listed := ""
	if uri, ok := jsonrpc.String(quoted); ok {
		if it := s.Offering.Catalog().Item(offers.Resources, uri); it != nil && it.Child == from.Child {
			listed = it.OwnName
		}
	}
	for {
		conf := from.Conf
		answer, err := s.sendRequest(ctx, m, quoted, from.URI, &requestTarget{
			conf: conf, child: from.Child, method: m.Method, listed: listed, kind: offers.Resources, before: before, usesTemplates: true, templates: s.Offering.Catalog().TemplatesOf(from.Child),
			scanWith: func(templates []string) (*validate.Scan, error) {
				return conf.Checker.ScanURI(from.Child, from.URI, validate.AddListedTemplate(templates, listed)...)
			},
		})
		if from.Conf = s.Current.InForce(); !errors.Is(err, configuration.ErrSuperseded) || from.Conf == conf || s.Current.IsSuperseded(conf, from.Child) {
			return answer, err
		}
	}
}

// notFound reports whether an error reports that a child does not have a
// resource. Before 2026-07-28 it is -32002; servers also say -32602, and some
// -32603.
func notFound(answer jsonrpc.Answer) bool {
	switch jsonrpc.ParseError(answer.Error).Code {
	case mcp.RESOURCE_NOT_FOUND, jsonrpc.CodeInvalidParams, jsonrpc.CodeInternal, jsonrpc.CodeMethodNotFound:
		return true
	}
	return false
}

// What follows passes on what the protocol does not know: requests and notifications that
// belong to an extension of a child.

// longestMethod bounds the name of a method that anything is looked up for, in bytes.
const longestMethod = 256

// ServeExtension answers a request whose method belongs to an extension of the protocol, and records the request.
func (s *Sender) ServeExtension(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if len(m.Method) > longestMethod {
		return jsonrpc.RefuseMethod(fmt.Sprintf("no method has a name of more than %d bytes", longestMethod))
	}
	from, request := s.ClientOf(ctx), client.RequestOf(ctx)
	request.Record = s.Records.StartRequest(m, from.StartTiming(s.Records.Telemetry()))
	ctx = client.NewContext(ctx, request)
	answer := s.retryOnReload(ctx, func(ctx context.Context) (jsonrpc.Answer, error) { return s.routeExtension(ctx, m) })
	if isExtensionResult(answer.Result) {
		from.KeepResultType()
	}
	s.Records.FinishRequest(ctx, request.Record, answer)
	return answer
}

// routeExtension answers a request that the protocol does not know, and passes on such a
// notification: the child that it belongs to gets it, if the params are allowed as
// arguments of a tool without a schema would be.
func (s *Sender) routeExtension(ctx context.Context, m *jsonrpc.Message) (jsonrpc.Answer, error) {
	c := s.Offering.AwaitCatalog(ctx)
	if of := methods.Of(m.Method).Extension; of != "" && m.ID != nil {
		if uri, ok := jsonrpc.String(m.Param("uri")); ok && c.Extensions().Owners(of) != nil {
			return s.routeExtensionByURI(ctx, m, of, uri)
		}
	}
	among := c.Extensions().Speakers(m.Method)
	named, edits := s.namedBy(c, m, among)
	switch {
	case len(among) == 0 || strings.HasPrefix(m.Method, ownMethods) || strings.HasPrefix(m.Method, "rpc."):
		return jsonrpc.RefuseMethod(texts.NoExtensionMethod(m.Method)), nil
	case slices.Contains(among, named):
		among = []string{named}
	case len(among) > 1:
		return jsonrpc.RefuseMethod(texts.AmbiguousMethod(m.Method, among)), nil
	default:
		edits = nil
	}
	if m.Params != nil && !jsonrpc.IsObject(m.Params) {
		return jsonrpc.RefuseParams("the params of " + printable.Quote(m.Method) + " are to be an object"), nil
	}
	return s.sendExtension(ctx, c.Conf, among[0], m, edits)
}

// routeExtensionByURI answers a request of an extension about what a URI names, as ServeResource does. Only
// children that have the extension are asked, in turn.
func (s *Sender) routeExtensionByURI(ctx context.Context, m *jsonrpc.Message, extension, uri string) (jsonrpc.Answer, error) {
	list, isComplete, _ := s.ResourceSources(ctx, uri)
	c := s.Offering.Catalog()
	owners := c.Extensions().Owners(extension)
	list = slices.DeleteFunc(list, func(from offering.ResourceSource) bool { return !slices.Contains(owners, from.Child) })
	if len(owners) == 1 && len(list) == 0 && !isComplete { // it does not report that it has resources, as it should
		list = []offering.ResourceSource{{ResourceSource: catalog.ResourceSource{Child: owners[0], URI: uri}, Conf: c.Conf}}
	}
	if len(list) == 0 {
		return jsonrpc.RefuseParams(texts.NoExtensionResource(extension, uri)), nil
	}
	answer, from, err := s.AskInOrder(ctx, uri, list, isComplete, func(from offering.ResourceSource) (jsonrpc.Answer, error) {
		var edits []jsonrpc.Edit
		if from.URI != uri {
			edits = []jsonrpc.Edit{{Old: m.Param("uri"), With: jsonrpc.AppendString(nil, from.URI)}}
		}
		return s.sendExtension(ctx, from.Conf, from.Child, m, edits)
	})
	if err == nil && answer.Error == nil {
		answer = c.WithURIs(from.Child, uri, from.URI, answer)
	}
	return answer, err
}

// ownMethods begins the names of the hub's own methods.
const ownMethods = "mcphub/"

// isExtensionResult reports whether a result has a type of an extension's own.
func isExtensionResult(result []byte) bool {
	kind, ok := jsonrpc.GetString(result, "resultType")
	return ok && kind != link.ResultInput && kind != link.ResultTask
}

// sendExtension sends a request or notification to one child, with edits of its params.
func (s *Sender) sendExtension(ctx context.Context, conf *configuration.Configuration, child string, m *jsonrpc.Message, edits []jsonrpc.Edit) (jsonrpc.Answer, error) {
	judged := jsonrpc.Without(m.Params, "_meta")
	if len(edits) > 0 { // what the child gets is what is judged
		judged = jsonrpc.Without(jsonrpc.Join(jsonrpc.Splice(m.Params, edits...)), "_meta")
	}
	t := &requestTarget{
		conf: conf, child: child, method: m.Method, usesTemplates: true, templates: s.Offering.Catalog().TemplatesOf(child),
		scanWith: func(templates []string) (*validate.Scan, error) {
			return conf.Checker.ScanParams(child, m.Method, judged, templates...)
		},
	}
	call := &Call{sender: s, target: t, progressToken: progressTokenOf(m), notification: m.IsNotification(), splicing: splicingOf(m, nil, "")}
	call.buildParams = func(own []byte, _ []jsonrpc.Edit) [][]byte {
		if m.Params == nil {
			return nil
		}
		return jsonrpc.Splice(m.Params, append(slices.Clone(edits), call.splicing.traceEdit(own))...)
	}
	if call.notification {
		call.progressToken, t.unaskable = nil, "nobody is asked about a notification"
	}
	return call.JudgeAndSend(ctx)
}

// namedBy finds the child that the thing belongs to which the params name, and the
// edits that put the child's own name for it instead of the client's. "" if they
// name nothing that is known.
func (s *Sender) namedBy(c *offering.Catalog, m *jsonrpc.Message, among []string) (child string, edits []jsonrpc.Edit) {
	if id, ok := jsonrpc.String(m.Param("taskId")); ok {
		if k, ok := s.Tasks.Find(id); ok {
			return k.Child, nil
		}
	}
	own := func(quoted []byte, was, is string) []jsonrpc.Edit {
		if was == is {
			return nil
		}
		return []jsonrpc.Edit{{Old: quoted, With: jsonrpc.AppendString(nil, is)}}
	}
	if uri, ok := jsonrpc.String(m.Param("uri")); ok {
		if at, ok := c.OwnerOf(uri, among); ok {
			return at.Child, own(m.Param("uri"), uri, at.URI)
		}
	}
	if name, ok := jsonrpc.String(m.Param("name")); ok {
		if t := c.Tool(name); t != nil && t.Child != "" {
			return t.Child, own(m.Param("name"), name, t.OwnName)
		}
		if it := c.Item(offers.Prompts, name); it != nil {
			return it.Child, own(m.Param("name"), name, it.OwnName)
		}
	}
	return "", nil
}
