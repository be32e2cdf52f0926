package hub

import (
	"mcphub/children"
	"mcphub/children/offers"
	"mcphub/hub/telemetry"
)

// This file has the hub watched.

// Telemetry is what is counted of a hub, and TelemetryOptions shape it.
type (
	Telemetry        = telemetry.Telemetry
	TelemetryOptions = telemetry.Options
)

// NewTelemetry makes the Telemetry that Config.Telemetry takes.
func NewTelemetry(o TelemetryOptions) *Telemetry { return telemetry.New(o) }

// countWith has t count what the hub does. It is called before anything runs.
func (h *Hub) countWith(t *Telemetry) {
	h.telemetry = t
	t.SetGauges(telemetry.Gauges{
		Transport: h.transportOf, Questions: h.asked.Load, Suspended: h.suspended.Load, Waiting: h.turns.Waiting,
		Sessions: h.sessionsUsed, Children: h.childrenUsed,
		Unrecorded: func() uint64 { return h.currentConfiguration().Audit.Status().Unrecorded },
	})
}

// sessionsUsed returns how many of its sessions the HTTP front has; none if there is no front.
func (h *Hub) sessionsUsed() telemetry.LimitUse {
	if used := h.httpUse.Load(); used != nil {
		return (*used)()
	}
	return telemetry.LimitUse{}
}

func (h *Hub) childrenUsed() telemetry.LimitUse {
	u := h.sup.PlacesUsed()
	return telemetry.LimitUse{Used: u.All, Most: u.Most, UsedByOne: u.OfOne, MostOfOne: u.MostOfOne}
}

// transportOf returns how a server is spoken to, as the conventions call it.
func (h *Hub) transportOf(child string) string {
	switch c := h.currentConfiguration().Child(child); {
	case c == nil:
		return ""
	case c.Spec.URL != "":
		return telemetry.TCP
	}
	return telemetry.Pipe
}

// updateChild is the Changed callback of a hub that has telemetry.
func (h *Hub) updateChild(st children.Status, offer *offers.RawOffer) {
	h.telemetry.UpdateChild(&st)
	h.sessions.UpdateInstance(st, offer)
}
