package hub

import (
	"context"
	"fmt"
	"slices"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/hub/configuration"
	"mcphub/internal/printable"
)

// A NotServedError reports why there is no child that could be started again.
type NotServedError struct {
	Server string
	Reason string
}

func (e *NotServedError) Error() string {
	return fmt.Sprintf("%s is not served: %s", e.Server, e.Reason)
}

// RestartReport is what RestartServer has done. JSON.
type RestartReport struct {
	Processes int      `json:"processes"`          // that ran, or were to, and have ended or end with their calls
	Ready     int      `json:"ready"`              // that run in their place
	Error     string   `json:"error,omitempty"`    // why others do not
	Sessions  []string `json:"sessions,omitempty"` // ids of the ones that were served by them, of clients that share this hub
}

// RestartServer starts a child again, for all sessions. It is as if the entry had changed:
// calls under way end in the old process, calls that come go to the new one, and
// failures before count no longer. It waits until there is a new process for each that
// there was, or it is known why there is none. If there was none, the next call starts
// it.
func (h *Hub) RestartServer(ctx context.Context, name string) (RestartReport, error) {
	var r RestartReport
	start, served, err := h.replaceChild(ctx, name)
	if err != nil {
		return r, err
	}
	r.Processes, r.Sessions = len(start), served
	failed := make(chan error, len(start))
	for _, s := range start {
		go func() {
			lease, err := s.sender.Acquire(ctx, s.current.AwaitInForce(), name)
			if err == nil {
				lease.Release()
			}
			failed <- err
		}()
	}
	for range start {
		if err := <-failed; err == nil {
			r.Ready++
		} else if r.Error == "" {
			r.Error = printable.Clean(err.Error())
		}
	}
	return r, nil
}

// replaceChild retires every instance of a child. It returns a session for each that
// ran, or was to run, and the ids of all attached ones that they served.
func (h *Hub) replaceChild(ctx context.Context, name string) (start []*Session, served []string, err error) {
	done, err := h.beginReplacing(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	old := h.currentConfiguration()
	if !slices.ContainsFunc(h.surroundings.InForce(), func(conf *configuration.Configuration) bool { return conf.Child(name) != nil }) {
		return nil, nil, &NotServedError{name, unservedReason(old, name)}
	}
	conf, err := configuration.New(old.Settings, h.ownTools, old, name)
	if err != nil {
		return nil, nil, err
	}
	start = h.servedBy(name)
	for _, s := range start {
		served = append(served, h.attachedSessions(s.assignedSession.Assignments().Key(name))...)
	}
	h.followConfiguration(conf)
	return start, served, nil
}

// servedBy returns a session for each instance of a child that runs, or is to run.
func (h *Hub) servedBy(name string) (sessions []*Session) {
	busy := map[spec.Key]bool{}
	for _, st := range h.sup.Status() {
		switch st.State {
		case children.Starting, children.Ready, children.Hung, children.BackingOff:
			busy[st.Key] = st.Child == name
		}
	}
	for _, s := range h.everySession() {
		if at, ok := s.assignedSession.Assignments().Lookup(name); ok && busy[at.Key] {
			busy[at.Key] = false
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// unservedReason returns why there is no child of this name.
func unservedReason(conf *configuration.Configuration, name string) string {
	if b := conf.BrokenEntry(name); b != nil {
		return b.Reason
	}
	if slices.Contains(conf.Disabled, name) {
		return "disabled"
	}
	return noEntry
}

const noEntry = "the configuration in force has no such entry"
