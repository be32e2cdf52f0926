package call

import (
	"context"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/offering"
	"mcphub/hub/params"
	"mcphub/hub/results"
	"mcphub/internal/jsonrpc"
	"mcphub/validate"
)

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
