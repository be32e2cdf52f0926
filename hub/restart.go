package hub

import (
	"context"
	"fmt"

	"mcphub/children"
	"mcphub/hub/configuration"
)

// A NotServedError says why there is no child that could be started anew.
type NotServedError struct {
	Server string
	Reason string
}

func (e *NotServedError) Error() string {
	return fmt.Sprintf("%s is not served: %s", e.Server, e.Reason)
}

// Restart starts a child anew, for all sessions. It is as if the entry had changed:
// calls under way end in the old process, calls that come go to the new one, and
// failures before count no longer. processes is how many run that stop for it. The
// new one is started as any other: by the next call where what it offers is remembered.
func (h *Hub) Restart(ctx context.Context, name string) (processes int, err error) {
	done, err := h.takeTurn(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	old := h.now()
	if old.Child(name) == nil {
		return 0, &NotServedError{name, unserved(old, name)}
	}
	g, err := configuration.New(old.Settings, h.own, old, name)
	if err != nil {
		return 0, err
	}
	processes = h.processes()[name]
	h.follow(g, old)
	return processes, nil
}

// unserved says why there is no child of this name.
func unserved(g *configuration.Configuration, name string) string {
	if b := g.BrokenEntry(name); b != nil {
		return b.Reason
	}
	for _, disabled := range g.Disabled {
		if disabled == name {
			return "disabled"
		}
	}
	return noEntry
}

const noEntry = "the configuration in force has no such entry"

// processes counts, by name, the instances that run and may be called, or will be.
func (h *Hub) processes() map[string]int {
	out := map[string]int{}
	for _, st := range h.sup.Status() {
		switch st.State {
		case children.Starting, children.Ready, children.Hung:
			out[st.Child]++
		}
	}
	return out
}
