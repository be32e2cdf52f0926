package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// What a child wrote reaches a log of either kind without its escape sequences
// and without changes of direction.
func TestLogsAreClean(t *testing.T) {
	t.Parallel()
	evil := "a\x1b[31mred\x1b]0;title\x07 \u202eevil\U000e0041"
	for _, to := range [][2]bool{{false, false}, {true, false}, {true, true}} {
		var b bytes.Buffer
		people := to[0]
		log := zerolog.New(logTo(&b, people, to[1]))
		log.Info().Str("child", evil).RawJSON("params", []byte(`{"x":"`+"\u202e"+`"}`)).Strs("list", []string{evil}).Msg(evil)
		got := b.String()
		if strings.ContainsAny(got, "\x1b\x07\u202e\U000e0041") || !strings.Contains(got, "evil") {
			t.Errorf("for people %t: %q", people, got)
		}
	}
	var b bytes.Buffer
	plain := zerolog.New(zerolog.ConsoleWriter{Out: &b, NoColor: true})
	if plain.Info().Msg(evil); !strings.Contains(b.String(), "\u202e") {
		t.Errorf("the control: %q is clean by itself", b.String())
	}
}
