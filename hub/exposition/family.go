package exposition

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Other stands instead of a label's value that has no series of its own, because there are
// too many.
const Other = "_other"

// A Desc describes what a family is. Kind is set by the one who adds it.
type Desc struct {
	Name   string
	Help   string // one line
	Kind   string // counter, gauge or histogram
	Labels []Label
	Most   int // series, without the ones that are counted together; 0: maxSeries
}

// A Label is the name of one, and where its values come from.
type Label struct {
	Name string
	Open bool // values may be of any number, so that they can become Other
}

// maxSeries is how many series a family has at most, if its Desc does not say.
const maxSeries = 1000

// A value is a Counter, a Gauge or a Histogram.
type value interface {
	appendFamily(b []byte, at *series) []byte
}

// A Family has a value for each set of values of its labels.
type Family[V value] struct {
	Desc
	empty func() V

	mu  sync.RWMutex
	all map[string]*series // by the values of the labels
}

// series are a value and the labels that it stands under.
type series struct {
	name   string
	labels string // as they are written, without braces
	value  value
}

// With returns the value for these values of the labels, in their order. A label whose value
// is "" is left out. If there are too many series, it is one that others share.
func (f *Family[V]) With(values ...string) V {
	key := keyOf(values)
	f.mu.RLock()
	s := f.all[key]
	f.mu.RUnlock()
	if s == nil {
		s = f.addSeries(key, values)
	}
	return s.value.(V)
}

func (f *Family[V]) addSeries(key string, values []string) *series {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.all[key]; s != nil {
		return s
	}
	if len(f.all) >= f.Most {
		values = slices.Clone(values)
		for i := range values {
			if f.Labels[i].Open && values[i] != "" {
				values[i] = Other
			}
		}
		if key = keyOf(values); f.all[key] != nil {
			return f.all[key]
		}
	}
	s := &series{f.Name, f.formatLabels(values), f.empty()}
	f.all[key] = s
	return s
}

// keyOf makes one key of several values. It writes the length of each in two bytes, so keys differ
// while values are shorter than 64 KiB.
func keyOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteByte(byte(len(v)))
		b.WriteByte(byte(len(v) >> 8))
		b.WriteString(v)
	}
	return b.String()
}

func (f *Family[V]) formatLabels(values []string) string {
	escapes := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	for i, v := range values {
		if v == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f.Labels[i].Name)
		b.WriteString(`="`)
		b.WriteString(escapes.Replace(strings.ToValidUTF8(v, "\uFFFD")))
		b.WriteByte('"')
	}
	return b.String()
}

// beginLine writes the name and the labels of one line; le is the bound of a bucket.
func (s *series) beginLine(b []byte, suffix, le string) []byte {
	b = append(append(b, s.name...), suffix...)
	if s.labels != "" || le != "" {
		b = append(append(b, '{'), s.labels...)
		if le != "" {
			if s.labels != "" {
				b = append(b, ',')
			}
			b = append(append(append(b, `le="`...), le...), '"')
		}
		b = append(b, '}')
	}
	return append(b, ' ')
}

func (f *Family[V]) familyDesc() *Desc { return &f.Desc }

func (f *Family[V]) appendFamily(b []byte) []byte {
	f.mu.RLock()
	all := slices.Collect(maps.Values(f.all))
	f.mu.RUnlock()
	slices.SortFunc(all, func(a, b *series) int { return strings.Compare(a.labels, b.labels) })
	for _, s := range all {
		b = append(s.value.appendFamily(b, s), '\n')
	}
	return b
}

// A Page is families, in the order in which they were added. They are added before it is
// written first.
type Page struct {
	families []family

	mu     sync.Mutex // held while it is written
	before []func()   // called first then
}

type family interface {
	familyDesc() *Desc
	appendFamily(b []byte) []byte
}

func addFamily[V value](p *Page, d Desc, kind string, empty func() V) *Family[V] {
	d.Kind = kind
	d.Most = cmp.Or(d.Most, maxSeries)
	f := &Family[V]{Desc: d, empty: empty, all: map[string]*series{}}
	p.families = append(p.families, f)
	return f
}

// Counters adds a family of counters.
func (p *Page) Counters(d Desc) *Family[*Counter] {
	return addFamily(p, d, "counter", func() *Counter { return &Counter{} })
}

// Gauges adds a family of gauges.
func (p *Page) Gauges(d Desc) *Family[*Gauge] {
	return addFamily(p, d, "gauge", func() *Gauge { return &Gauge{} })
}

// Histograms adds a family of histograms of durations, with the upper bounds of their
// buckets in ascending order.
func (p *Page) Histograms(d Desc, bounds []time.Duration) *Family[*Histogram] {
	return addFamily(p, d, "histogram", func() *Histogram { return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)} })
}

// Func adds one value without labels that is asked for when the page is written. ok false:
// it is left out. kind is counter or gauge.
func (p *Page) Func(d Desc, kind string, value func() (v float64, ok bool)) {
	d.Kind = kind
	p.families = append(p.families, &asked{d, value})
}

type asked struct {
	Desc
	value func() (float64, bool)
}

func (a *asked) familyDesc() *Desc { return &a.Desc }

func (a *asked) appendFamily(b []byte) []byte {
	v, ok := a.value()
	if !ok {
		return b
	}
	return append(appendFloat((&series{name: a.Name}).beginLine(b, "", ""), v), '\n')
}

// Descs returns what is on the page, in its order.
func (p *Page) Descs() (all []Desc) {
	for _, f := range p.families {
		all = append(all, *f.familyDesc())
	}
	return all
}

// ContentType is the media type of what Append writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Append writes the page. A family without a value is left out.
func (p *Page) Append(b []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, look := range p.before {
		look()
	}
	for _, f := range p.families {
		d, at := f.familyDesc(), len(b)
		b = append(append(append(append(b, "# HELP "...), d.Name...), ' '), d.Help...)
		b = append(append(append(append(append(b, "\n# TYPE "...), d.Name...), ' '), d.Kind...), '\n')
		head := len(b)
		if b = f.appendFamily(b); len(b) == head {
			b = b[:at]
		}
	}
	return b
}
