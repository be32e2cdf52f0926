package config

import (
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/config/keys"
)

func TestAfterRestart(t *testing.T) {
	t.Parallel()
	started, _, err := Parse("hub.json", []byte(`{"limits": {"calls": 5}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if all := started.AfterRestart(started); len(all) > 0 {
		t.Error(all)
	}
	now, _, err := Parse("hub.json", []byte("{\"names\": {\"max\": 20},\n\"limits\": {\"frame\": \"1MiB\",\n \"starting\": 8}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range now.AfterRestart(started) {
		got = append(got, p.String())
	}
	want := "hub.json:2:12: warning: limits.frame: takes effect after a restart\nhub.json:2:11: warning: limits.calls: takes effect after a restart"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	for _, k := range keys.Describe() {
		if path := strings.Split(k.Path, "."); k.Restart && started.valueAt(path) == nil {
			t.Errorf("%s: a File has no such value", k.Path)
		}
	}
}
