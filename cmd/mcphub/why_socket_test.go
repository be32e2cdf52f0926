package main

import (
	"strings"
	"testing"
	"time"

	"mcphub/children/sandbox"
	"mcphub/hub/audit"
	"mcphub/hub/record"
)

// TestASocketIsShownByItsVariable: what is recorded of a refused socket names its variable, and no command opens sockets by it.
func TestASocketIsShownByItsVariable(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{"SSH_AUTH_SOCK": "kid was refused the socket of SSH_AUTH_SOCK", "": "kid was refused unix sockets"} {
		recent := &audit.Recent{}
		(&record.Settings{Recent: recent}).RecordKernelRefusal("s", "local", record.Subject{Child: "kid"}, sandbox.Refusal{Sockets: true, Variable: variable, By: sandbox.ByServer}, []string{"/p"})
		list := recent.List()
		if len(list) != 1 {
			t.Fatalf("recorded is %+v", list)
		}
		w := whyQuery{src: newSource()}
		r := reason{Refusal: list[0], Times: 1}
		w.mendReason(&r, true, &opened{})
		var out strings.Builder
		w.showRefusals(&out, []reason{r}, time.Now())
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "mcphub allow") || !strings.Contains(r.Mend, `"sockets": "on"`) {
			t.Errorf("%q: %s", variable, out.String())
		}
	}
}
