// Yardstick holds what calls cost against an earlier version of mcphub.
//
//	yardstick SAMPLES.json GIVEN-UP KIND
//
// SAMPLES.json is what the load harness wrote of "old" and of the version at hand, in the same run. Of every metric that is
// CPU a call the smallest sample counts, for noise only adds. The run fails if one is more than a tenth above the old one.
// GIVEN-UP lists the ones that are known to be, each with its own bound:
//
//	KIND METRIC RATIO why
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	maxRatio    = 1.10
	leastRounds = 6
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: yardstick SAMPLES.json GIVEN-UP KIND")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(samples, givenUp, kind string) error {
	raw, err := os.ReadFile(samples)
	if err != nil {
		return err
	}
	var out struct {
		Samples map[string]map[string][]*float64 `json:"samples"`
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("%s: %w", samples, err)
	}
	bounds, err := read(givenUp, kind)
	if err != nil {
		return err
	}
	var now map[string][]*float64
	for name, metrics := range out.Samples {
		if strings.HasPrefix(name, "mcphub") {
			now = metrics
		}
	}
	failed, compared := 0, 0
	for metric, each := range out.Samples["old"] {
		if !strings.HasSuffix(metric, ".cpu_us") {
			continue
		}
		before, was := least(each)
		after, is := least(now[metric])
		if was < leastRounds || is < leastRounds {
			return fmt.Errorf("%s: %d and %d rounds, want at least %d", metric, was, is, leastRounds)
		}
		most, known := bounds[metric]
		if !known {
			most = maxRatio
		}
		compared++
		verdict := "ok"
		if after/before > most {
			verdict = "TOO MUCH"
			failed++
		}
		fmt.Printf("%s %-22s %6.2f us before, %6.2f now: %.2f, at most %.2f  %s\n", kind, metric, before, after, after/before, most, verdict)
	}
	if compared == 0 {
		return fmt.Errorf("%s compares nothing", samples)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cost more than they may; say why in %s, or find out", failed, compared, givenUp)
	}
	return nil
}

// least returns the smallest sample, and how many there are.
func least(samples []*float64) (smallest float64, n int) {
	var all []float64
	for _, s := range samples {
		if s != nil {
			all = append(all, *s)
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	return slices.Min(all), len(all)
}

func read(path, kind string) (map[string]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	bounds := map[string]float64{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 4 {
			return nil, fmt.Errorf("%s:%d: want KIND METRIC RATIO and why", path, n)
		}
		ratio, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if fields[0] == kind {
			bounds[fields[1]] = ratio
		}
	}
	return bounds, lines.Err()
}
