package call

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcphub/children/link"
	"mcphub/children/offers"
	"mcphub/hub/catalog"
	"mcphub/hub/client"
	"mcphub/hub/configuration"
	"mcphub/hub/offering"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/validate"
)

// This file passes on what the protocol does not know: requests and notifications that
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
