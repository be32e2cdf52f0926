package hub

import (
	"context"

	"mcphub/children"
	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
)

// observer is the Hub as the supervisor sees it.
type observer struct{ h *Hub }

// ChildChanged hands a change of state or a new offer to the sessions that the
// instance belongs to.
func (o observer) ChildChanged(st children.Status, offer *children.Offer) {
	o.h.sessions.Told(st, offer)
}

// ChildNotification passes on what a child tells beside its answers. What
// belongs to no call and no client ends here.
func (o observer) ChildNotification(ctx context.Context, k children.Key, m *jsonrpc.Message) {
	switch m.Method {
	case "notifications/progress":
		o.h.progress.Relay(k, m)
	case "notifications/resources/updated":
		o.h.subs.Updated(k, m)
	case "notifications/message":
		o.h.logged(ctx, k, m)
	case tasks.MethodStatus:
		o.h.taskTold(k, m)
	case children.MethodTaskNews:
		o.h.taskNews(k, m)
	case "notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed":
		// Ids are those of one connection; the others are a client's to say.
	default:
		// A server may have things to say that this program does not know; those of
		// one that several share are nobody's.
		if s, ok := o.h.sessions.Owner(k); ok && (children.OfProtocol(m.Method) || s.expects(k, m.Method)) {
			s.pass(ctx, k, m)
		}
	}
}
