package world

import (
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
)

// unsteady is what differs from run to run and from machine to machine, with what stands for it. Some take more or less room
// from run to run, so that columns move.
var unsteady = []struct {
	what  *regexp.Regexp
	by    string
	moves bool
}{
	{what: regexp.MustCompile(`("uptimeSeconds":)[\d.e-]+`), by: "${1}0"},
	{what: regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`), by: "TIME"},
	{what: regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), by: "UUID"},
	{what: regexp.MustCompile(`("client":"mcphub-\w+ )[^"]+"`), by: `${1}VERSION"`},
	{what: regexp.MustCompile(`\b[0-9a-f]{64}\b`), by: "HASH"},
	{what: regexp.MustCompile(`\b[0-9a-f]{32}\b`), by: "ID"},
	{what: regexp.MustCompile(`\b[0-9a-f]{8}\b`), by: "SESSION"},
	{what: regexp.MustCompile(`("(?:pid|us|milliseconds|microseconds)": ?)\d+`), by: "${1}0"},
	{what: regexp.MustCompile(`("version": ?)"[^"]*"`), by: `$1"VERSION"`},
	{what: regexp.MustCompile(`\d+-SESSION\.sock`), by: "PID-SESSION.sock"},
	{what: regexp.MustCompile(`"(/[a-z]+)+/sh"`), by: `"sh"`},
	{what: regexp.MustCompile(`(?m)(,(?:ok)?),\d+,(\d+,\w*,\w*)$`), by: "$1,0,$2"}, // the last columns of export --format csv
	{what: regexp.MustCompile(`("(?:os|arch|go)": ?)"[^"]*"`), by: `$1"-"`},
	{what: regexp.MustCompile(`("kernel": ?)"(?:held|partial|none)"`), by: `$1"KERNEL"`},
	{what: regexp.MustCompile(`^mcphub \S+ \(go\S+ \S+\)`), by: "mcphub VERSION (GO, OS/ARCH)"},
	{what: regexp.MustCompile(`\bversion \S+`), by: "version VERSION"},
	{what: regexp.MustCompile(`(?m)^\d+[smh] ago, by`), by: "SPAN ago, by"},
	{what: regexp.MustCompile(`\bhub \d+`), by: "hub PID"},
	{what: regexp.MustCompile(`\[\d+\] `), by: "[PID] "},
	{what: regexp.MustCompile(`(ready +)\d+s +\d+`), by: "${1}SPAN  PID", moves: true},
	{what: regexp.MustCompile(`([ (])\d+(\.\d+)?(ms|µs|s)\b`), by: "${1}SPAN", moves: true},
}

// Steady replaces what is unsteady, first some texts by their names.
func Steady(text string, named ...string) string {
	for i := 0; i < len(named); i += 2 {
		text = strings.ReplaceAll(text, named[i+1], named[i])
	}
	moved := false
	for _, u := range unsteady {
		moved = moved || u.moves && u.what.MatchString(text)
		text = u.what.ReplaceAllString(text, u.by)
	}
	if moved && !strings.HasPrefix(text, "{") {
		text = Realigned(text)
	}
	return text
}

var betweenColumns = regexp.MustCompile(` {2,}`)

// Realigned returns a text whose tables have columns as wide as their cells.
func Realigned(text string) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for line := range strings.Lines(text) {
		cells := betweenColumns.Split(strings.TrimSuffix(line, "\n"), -1)
		if len(cells) > 1 && cells[0] != "" {
			_, _ = io.WriteString(table, strings.Join(cells, "\t")+"\n") // a builder takes everything
			continue
		}
		_ = table.Flush()
		b.WriteString(line)
	}
	_ = table.Flush()
	return b.String()
}
