package hub

import (
	"bytes"
	"context"
	"slices"
	"time"

	"mcphub/children"
	"mcphub/children/run"
	"mcphub/children/spec"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/hub/failure"
	"mcphub/hub/modern"
	"mcphub/hub/tasks"
	"mcphub/hub/texts"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// This file gives package tasks what it needs of a session.

// taskSession is a Session as package tasks knows it.
type taskSession struct{ *Session }

func (s taskSession) Acquire(ctx context.Context, k spec.Key) (*children.Lease, error) {
	if lease, ok := s.hub.sup.TryAcquire(k); ok {
		return lease, nil
	}
	defer s.sender.ClientOf(ctx).AllowHubQuestions()()
	ctx, cancel := context.WithTimeout(ctx, s.currentConfiguration().StartLimit(k.Child))
	defer cancel()
	return s.hub.sup.Acquire(ctx, k)
}

// Send puts the roots that the child is served instead of the ones that the
// client may have given in an answer, and shortens a result that is too large.
func (s taskSession) Send(ctx context.Context, lease *children.Lease, tool string, m *jsonrpc.Message) (jsonrpc.Answer, error) {
	var edits []jsonrpc.Edit
	if responses := m.Param(modern.MemberResponses); m.Method == methods.UpdateTask && modern.AnswersRoots(responses) {
		roots, served := lease.Roots()
		edits = append(edits, jsonrpc.Edit{Old: responses, With: modern.WithRoots(responses, roots, served)})
	}
	if m.Method == methods.TaskResult {
		ctx = run.WithoutTimeout(ctx) // it is answered when the task has ended
	}
	answer, err := s.sender.RelayAboutTask(ctx, lease, m, edits)
	if err == nil && (m.Method == methods.TaskResult || m.Method == methods.GetTask) {
		answer = s.sender.ShortenTask(ctx, m.Method, lease.Key().Child, tool, answer)
	}
	return answer, err
}

func (s taskSession) Denies(child, tool string) bool {
	now := s.currentConfiguration()
	return now.IsDenied(child) || tool != "" && (now.Checker.RefusesTool(child, tool) || !now.ToolsetView().ShowsTool(child, tool))
}

func (s taskSession) Failed(ctx context.Context, child, method string, err error) jsonrpc.Answer {
	return failure.AnswerRequest(ctx, child, method, err)
}

func (s taskSession) Children() []string { return s.currentConfiguration().ServedNames() }

func (s taskSession) Serving(child string) (k spec.Key, isOwner, ok bool) {
	assignment, ok := s.assignedSession.Assignments().Lookup(child)
	owner, hasOwner := s.hub.sessions.Owner(assignment.Key)
	return assignment.Key, ok && hasOwner && owner == s.Session, ok
}

// serveTask answers tasks/get, tasks/result and tasks/cancel.
func (s *Session) serveTask(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	return s.tasks.Serve(ctx, taskSession{s}, m, false)
}

// serveModernTask answers what the extension of the modern era asks of a task.
func (s *Session) serveModernTask(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if refusal, ok := tasks.RequireExtension(s.sender.ClientOf(ctx).Claims().ForChildren); !ok {
		return refusal
	}
	return s.tasks.Serve(ctx, taskSession{s}, m, true)
}

// removeUnservedTasks leaves the capability of tasks out of the result of initialize, if it is known of every server that it has none. A
// client asks for capabilities once, so one that is not known yet may turn out to have some.
func (s *Session) removeUnservedTasks(result []byte, conf *configuration.Configuration, offers map[string]*catalog.Offer) []byte {
	caps := jsonrpc.Get(result, "capabilities")
	if !jsonrpc.IsObject(caps) || mayHaveTasks(conf, offers) {
		return result
	}
	s.noTasks.Store(true)
	without := append(jsonrpc.AppendMembers([]byte{'{'}, caps, func(name string) bool { return name != "tasks" }), '}')
	return jsonrpc.Join(jsonrpc.Splice(result, jsonrpc.Edit{Old: caps, With: without}))
}

// mayHaveTasks reports whether a server has tasks of 2025-11-25, or is not known yet.
func mayHaveTasks(conf *configuration.Configuration, offers map[string]*catalog.Offer) bool {
	return slices.ContainsFunc(conf.ServedNames(), func(name string) bool {
		o := offers[name]
		return o == nil || !o.Raw.IsModern() && jsonrpc.IsObject(jsonrpc.Get(o.Raw.Capabilities, "tasks"))
	})
}

// listTasks answers tasks/list.
func (s *Session) listTasks(ctx context.Context, m *jsonrpc.Message) jsonrpc.Answer {
	if s.noTasks.Load() && !mayHaveTasks(s.Offers()) {
		return jsonrpc.RefuseMethod(texts.NoExtension("tasks", m.Method))
	}
	return s.tasks.List(ctx, taskSession{s}, m)
}

// forwardTaskNews passes on what the client tells about a task that it made for a
// child. News that there is no room for are dropped: no one may rely on them.
func (s *Session) forwardTaskNews(m *jsonrpc.Message) {
	id, _ := jsonrpc.String(m.Param("taskId"))
	k, ok := s.tasks.ClientTaskOwner(id)
	if !ok {
		return
	}
	params := bytes.Clone(m.Params)
	s.outbox.Put(len(params), func(ctx context.Context) {
		if lease, ok := s.hub.sup.TryAcquire(k); ok {
			soon, cancel := context.WithTimeout(ctx, time.Second)
			_ = lease.Notify(soon, methods.TaskStatus, params)
			cancel()
			lease.Release()
		}
	})
}
