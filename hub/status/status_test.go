package status

import (
	"encoding/json"
	"strings"
	"testing"

	"mcphub/children"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/hub/configuration"
)

// TestChildren holds that every instance is reported, by the name of its child, and a child without one as well.
func TestChildren(t *testing.T) {
	t.Parallel()
	all := []configuration.Child{{Spec: spec.Spec{Name: "b", Command: "run"}}, {Spec: spec.Spec{Name: "a"}}}
	key := spec.Key{Child: "a", Instance: "s"}
	running := children.Status{Key: key, State: children.Ready, Args: []string{"--api-key", "hush"}, Err: "red\x1b[31m"}
	got := Children(all, []children.Status{running}, nil, nil, func(k spec.Key) []string { return []string{k.Instance} })
	if len(got) != 2 || got[0].Server != "a" || got[0].State != "ready" || got[0].Sessions[0] != "s" || got[1].Server != "b" || got[1].State != "configured" || got[1].Command != "run" {
		t.Fatalf("%+v", got)
	}
	text, err := json.Marshal(got)
	if err != nil || strings.Contains(string(text), "hush") || strings.Contains(string(text), "[31m") && strings.Contains(string(text), `\u001b`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestConfinement holds that nothing is said of a child that is not to be confined.
func TestConfinement(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		report sandbox.Report
		want   string
	}{
		{sandbox.Report{Mode: sandbox.Off, Lacks: []string{"x"}}, `{}`},
		{sandbox.Report{Mode: sandbox.Auto, State: sandbox.Partial, Lacks: []string{"x"}}, `{"kernel":"partial","kernelLacks":["x"]}`},
	} {
		if text, err := json.Marshal(ConfinementOf(tc.report)); err != nil || string(text) != tc.want {
			t.Errorf("%s, want %s; %v", text, tc.want, err)
		}
	}
}
