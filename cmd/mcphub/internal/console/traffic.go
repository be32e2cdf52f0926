package console

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

const (
	slotTime  = 5 * time.Second
	slotCount = 120 // ten minutes
	maxTook   = 512 // times that are kept of a slot, picked at random if there are more
)

// traffic counts what is recorded while the console runs. Its methods may be called from any
// goroutine.
type traffic struct {
	mu    sync.Mutex // guards all below
	slots [slotCount]slot
	since time.Time // from when on it counts; zero before
	wrong string    // why it counts no longer
}

// A slot is what happened in one slotTime.
type slot struct {
	number  int64 // of slotTimes since 1970
	calls   int
	refused int
	answers int
	took    []int64 // microseconds
}

// followRecord counts what is written to a folder until ctx ends.
func (t *traffic) followRecord(ctx context.Context, dir string) {
	if dir == "" {
		return
	}
	err := trail.Follow(ctx, dir, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.since = time.Now()
	}, t.noteLine)
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.wrong = err.Error()
	}
}

// noteLine counts a line.
func (t *traffic) noteLine(e trail.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := e.Time.UnixNano() / int64(slotTime)
	s := t.slotAt(number)
	if s.number > number {
		return // a clock was set back
	}
	if s.number < number {
		*s = slot{number: number, took: s.took[:0]}
	}
	if e.Kind == audit.KindDecision {
		for _, one := range e.Each() {
			s.calls++
			if one.Decision != "allow" {
				s.refused++
			}
		}
	}
	for _, r := range e.AllOutcomes() {
		s.answers++
		if len(s.took) < maxTook {
			s.took = append(s.took, r.Micros)
		} else if i := rand.IntN(s.answers); i < maxTook {
			s.took[i] = r.Micros
		}
	}
}

// slotAt returns the slot of a number.
func (t *traffic) slotAt(number int64) *slot {
	return &t.slots[((number%slotCount)+slotCount)%slotCount]
}

// A curve is one quantity over the last ten minutes, drawn by its points.
type curve struct {
	Name, Unit string
	Points     string // of an SVG polyline, within Width and Height
	Last, Most string
}

const (
	curveWidth  = 360
	curveHeight = 60
)

// Size of a curve, for its template.
func (curve) Width() int  { return curveWidth }
func (curve) Height() int { return curveHeight }

// drawCurves returns the curves of calls, refusals and the median time of an answer, until now.
func (t *traffic) drawCurves(now time.Time) (all []curve, since time.Time, wrong string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := now.UnixNano()/int64(slotTime) - 1 // that of now is not whole
	var calls, refused, median [slotCount]float64
	for i := range slotCount {
		number := last - slotCount + 1 + int64(i)
		s := t.slotAt(number)
		if s.number != number {
			continue
		}
		calls[i], refused[i] = float64(s.calls)/slotTime.Seconds(), float64(s.refused)/slotTime.Seconds()
		if n := len(s.took); n > 0 {
			sorted := slices.Sorted(slices.Values(s.took))
			median[i] = float64(sorted[n/2]) / 1000
		}
	}
	return []curve{drawCurve("calls", "a second", calls[:]), drawCurve("refused", "a second", refused[:]), drawCurve("p50 of answers", "ms", median[:])}, t.since, t.wrong
}

// drawCurve makes a curve of values, the last of which is the present value.
func drawCurve(name, unit string, values []float64) curve {
	most := slices.Max(values)
	scale := max(most, 1e-9)
	var b strings.Builder
	for i, v := range values {
		x := float64(i) * curveWidth / float64(len(values)-1)
		y := curveHeight - 1 - v/scale*(curveHeight-2)
		b.WriteString(formatNumber(x) + "," + formatNumber(y) + " ")
	}
	return curve{Name: name, Unit: unit, Points: strings.TrimSpace(b.String()), Last: formatNumber(values[len(values)-1]), Most: formatNumber(most)}
}

func formatNumber(v float64) string {
	text := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0")
}
