package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/children/spec"
	"mcphub/hub/assignment"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/offering"
	"mcphub/hub/params"
	"mcphub/hub/subscribe"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// This file gives package subscribe what it needs of a session.

// maxStreams bounds the streams of one session at a time.
const maxStreams = 32

// subscribeSession is a Session as package subscribe knows it.
type subscribeSession struct{ *Session }

func (s subscribeSession) Notify(ctx context.Context, method string, params ...[]byte) error {
	return s.mainMessenger.Notify(ctx, method, params...)
}

func (s subscribeSession) TryNotify(method string, params ...[]byte) bool {
	return s.mainMessenger.TryNotify(method, params...)
}

func (s subscribeSession) Lists() []subscribe.List {
	c := s.Catalog()
	all := make([]subscribe.List, offers.Kinds)
	for k := offers.Tools; k < offers.Kinds; k++ {
		all[k] = subscribe.List{Changed: k.List().Changed, Digest: func() string { return c.Pages(k).Digest }}
	}
	return all
}

func (s subscribeSession) AskInOrder(ctx context.Context, uri string, ask func(subscribe.ResourceSource) (jsonrpc.Answer, error)) jsonrpc.Answer {
	return configuration.RetryOnReload(func() (jsonrpc.Answer, error) {
		list, isComplete, refusal := s.subscribableSources(ctx, uri)
		if len(list) == 0 {
			return refusal, nil
		}
		answer, _, err := s.sender.AskInOrder(ctx, uri, list, isComplete, func(from offering.ResourceSource) (jsonrpc.Answer, error) {
			return ask(resourceSource{s.Session, from})
		})
		return answer, err
	})
}

func (s subscribeSession) First(ctx context.Context, uri string) (subscribe.ResourceSource, jsonrpc.Answer) {
	list, _, refusal := s.subscribableSources(ctx, uri)
	if len(list) == 0 {
		return nil, refusal
	}
	return resourceSource{s.Session, list[0]}, jsonrpc.Answer{}
}

func (s subscribeSession) At(child, uri string) subscribe.ResourceSource {
	conf := s.currentConfiguration()
	if conf.Child(child) == nil {
		return nil
	}
	return resourceSource{s.Session, offering.ResourceSource{ResourceSource: catalog.ResourceSource{Child: child, URI: uri}, Conf: conf}}
}

func (s subscribeSession) Denies(child string) bool {
	conf := s.currentConfiguration()
	return conf.Checker.RefusesTool(child, methods.Subscribe) || !conf.CatalogBuilder.ShowsOthers(child)
}

func (s subscribeSession) Serving(child string) (spec.Key, children.Term) {
	st := s.ChildStatus(child)
	return st.Key, st.Term()
}

// subscribableSources returns the children that may have a resource and tell about changes,
// the likeliest first. If there are none the answer reports why.
func (s *Session) subscribableSources(ctx context.Context, uri string) (list []offering.ResourceSource, isComplete bool, refusal jsonrpc.Answer) {
	list, isComplete, tells := s.sender.ResourceSources(ctx, uri)
	if len(list) == 0 {
		return nil, false, failure.NoResource(uri)
	}
	list = slices.DeleteFunc(list, func(from offering.ResourceSource) bool {
		return !tells.IsSubscribable(from.Child) && !from.Conf.IsDenied(from.Child) // that is denied, and recorded
	})
	return list, isComplete, jsonrpc.RefuseMethod(texts.NoChanges)
}

// A resourceSource is a resource of one child as package subscribe knows it.
type resourceSource struct {
	s    *Session
	from offering.ResourceSource
}

func (source resourceSource) Key() spec.Key {
	return source.s.assignedSession.Assignments().Key(source.from.Child)
}
func (source resourceSource) URI() string { return source.from.URI }

func (source resourceSource) Ask(ctx context.Context, m *jsonrpc.Message, before func(spec.Key, children.Term) error) (jsonrpc.Answer, error) {
	var leased func(*children.Lease) error
	if before != nil {
		leased = func(lease *children.Lease) error { return before(lease.Key(), lease.Term()) }
	}
	answer, err := source.s.sender.SendAboutResource(ctx, m, source.from, m.Param("uri"), leased)
	if errors.Is(err, configuration.ErrSuperseded) {
		err = fmt.Errorf("%w: %w", subscribe.ErrReplaced, err)
	}
	return answer, err
}

// answerSubscribe answers resources/subscribe and resources/unsubscribe.
func (s *Session) answerSubscribe(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	_, uri, err := params.NameIn(m, "uri", "a URI")
	if err != nil {
		return jsonrpc.RefuseParams(err.Error())
	}
	if m.Method == methods.Unsubscribe {
		answer := s.notifier.Unsubscribe(ctx, m, uri)
		s.keeper.keepSubscribed(uri, false)
		return answer
	}
	answer := s.notifier.Subscribe(ctx, m, uri)
	if answer.Error == nil {
		s.keeper.keepSubscribed(uri, true)
	}
	return answer
}

// answerListen answers subscriptions/listen, when the client or the session ends it.
func (s *Session) answerListen(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	c, limits := modernOf(ctx), &s.currentConfiguration().Limits
	// A stream takes the place of a request for as long as it lasts.
	most := max(1, min(maxStreams, limits.Calls/2))
	if s.streams > 0 {
		most = s.streams
	}
	return s.notifier.Listen(ctx, subscribe.ListenRequest{
		Request: m, Client: c.Detach(), Capabilities: c.Claims().ForChildren, Tasks: &s.tasks, Server: s.hub.serverInfo, Streams: most, Wait: limits.ListWait,
	})
}

// subscribedInstances are the processes that serve a session. A call that reaches a process finds the subscriptions there that an earlier one had:
// what the call changes would be told to no client otherwise.
type subscribedInstances struct {
	*assignment.AssignedSession[*Session]
	subscriptions *subscribe.Notifier
}

func (i subscribedInstances) TryAcquire(conf *configuration.Configuration, child string) *children.Lease {
	lease := i.AssignedSession.TryAcquire(conf, child)
	if lease != nil && i.subscriptions.IsBehind(lease.Key(), lease.Term()) {
		lease.Release()
		return nil
	}
	return lease
}

func (i subscribedInstances) Acquire(ctx context.Context, conf *configuration.Configuration, child string) (*children.Lease, error) {
	lease, err := i.AssignedSession.Acquire(ctx, conf, child)
	if err == nil {
		i.subscriptions.Renew(ctx, lease.Key(), lease.Term())
	}
	return lease, err
}
