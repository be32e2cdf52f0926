package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/internal/lazyregexp"
)

// parseDuration reads text such as "1m30s" or "90d", or a bare number. That is milliseconds, as
// clients write them, or seconds if it is below 1,000, as people do: a time-out of 30
// ms is no one's wish. millis: it is milliseconds always.
func parseDuration(n *jsonc.Node, millis bool) (time.Duration, string, string) {
	if n.Kind == '0' {
		v, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || math.Abs(v) > 1e12 {
			return 0, "number out of range", ""
		}
		if v < 1000 && !millis {
			return time.Duration(v * float64(time.Second)), "", ""
		}
		return time.Duration(v * float64(time.Millisecond)), "", ""
	}
	text := strings.TrimSpace(n.Text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if v, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(v) * 24 * time.Hour, "", ""
		}
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		hint := `write it as "90s", "2m" or "1h30m"`
		if _, err := strconv.ParseFloat(n.Text, 64); err == nil {
			hint = fmt.Sprintf(`write "%ss" or "%sms"`, n.Text, n.Text)
		}
		return 0, jsonc.Quote(n.Text) + " is no duration", hint
	}
	return v, "", ""
}

var (
	sizeText  = lazyregexp.New(`^([0-9]+)\s*([A-Za-z]*)$`)
	sizeUnits = map[string]int64{"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 1e3, "mb": 1e6, "gb": 1e9}
)

// parseSize reads a number of bytes or text such as "64MiB".
func parseSize(n *jsonc.Node) (int64, string) {
	m := sizeText.FindStringSubmatch(strings.TrimSpace(n.Text))
	if m == nil {
		return 0, jsonc.Quote(n.Text) + " is no size; write it as 64MiB"
	}
	unit, known := sizeUnits[strings.ToLower(m[2])]
	if !known {
		return 0, fmt.Sprintf("there is no unit %q; write B, KiB, MiB, GiB, kB, MB or GB", m[2])
	}
	v, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || v > math.MaxInt64/unit {
		return 0, "number out of range"
	}
	return v * unit, ""
}

// formatSize writes bytes as a person would.
func formatSize(n int64) string {
	for _, u := range []struct {
		name string
		by   int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.by && n%u.by == 0 {
			return strconv.FormatInt(n/u.by, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
