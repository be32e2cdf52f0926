package admin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/hub"
	"mcphub/hub/status"
)

func TestRestartAndPlan(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	var asked []string
	serve(t, New(Config{
		Folders: []string{dir}, Log: zerolog.Nop(), Status: aHub,
		Tools: func() []status.ServerTools {
			return []status.ServerTools{{Server: "kid", Tokens: 7, Tools: []status.OfferedTool{{Tool: status.Tool{ToolName: "look"}, Tokens: 7}}, Hidden: []string{"drop"}}}
		},
		Restart: func(_ context.Context, server string) (hub.RestartReport, error) {
			asked = append(asked, server)
			if server == "gone & away" {
				return hub.RestartReport{}, errors.New("it is not served")
			}
			return hub.RestartReport{Processes: 2, Ready: 1}, nil
		},
		EndSessions: func(_ context.Context, id, principal string) []hub.EndedSession {
			asked = append(asked, id+"/"+principal)
			return []hub.EndedSession{{ID: "1", Kept: "why"}}
		},
		Plan: func(_ context.Context, file string) (Plan, error) {
			asked = append(asked, file)
			return Plan{Servers: []hub.PlannedServer{{Server: "kid", Change: hub.PlanStays}}}, nil
		},
	}))
	h := await(t, 1, dir)[0]
	if all, err := h.Tools(t.Context()); err != nil || len(all) != 1 || all[0].Tools[0].ToolName != "look" || all[0].Tools[0].Tokens != 7 || all[0].Hidden[0] != "drop" {
		t.Errorf("%+v, %v", all, err)
	}
	if r, err := h.Restart(t.Context(), "kid"); r.Processes != 2 || r.Ready != 1 || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := h.Restart(t.Context(), "gone & away"); err == nil || err.Error() != "it is not served" {
		t.Error(err)
	}
	if _, err := h.Restart(t.Context(), ""); err == nil {
		t.Error("no server was named")
	}
	if p, err := h.Plan(t.Context(), "/a b"); err != nil || len(p.Servers) != 1 || p.Servers[0].Server != "kid" {
		t.Errorf("%+v, %v", p, err)
	}
	if all, err := h.EndSessions(t.Context(), "", "a&b"); err != nil || len(all) != 1 || all[0].Kept != "why" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := h.EndSessions(t.Context(), "1", ""); err != nil {
		t.Error(err)
	}
	for _, both := range []string{"", "1"} {
		if _, err := h.EndSessions(t.Context(), both, both); err == nil {
			t.Error("it does not ask for either")
		}
	}
	if got := strings.Join(asked, "|"); got != "kid|gone & away|/a b|/a&b|1/" {
		t.Errorf("asked: %s", got)
	}
}
