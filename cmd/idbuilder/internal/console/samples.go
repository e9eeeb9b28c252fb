// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"fmt"
	"html/template"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

const (
	maxSamples = 180  // of each chart
	maxCharted = 1000 // keys that have a chart at a time
)

// sample is the usage in one interval.
type sample struct {
	requests, ids float64 // a second
	left          float64 // numbers in memory, at the end
}

// ring has the last samples of a key, or of all keys.
type ring struct {
	values [maxSamples]sample
	count  int // of all samples so far
	unused int // number of the latest samples without use
}

func (r *ring) addSample(s sample) {
	r.values[r.count%maxSamples] = s
	r.count++
	if r.unused++; s.ids > 0 || s.requests > 0 {
		r.unused = 0
	}
}

// list returns the samples, the oldest first.
func (r *ring) list() []sample {
	if r.count <= maxSamples {
		return slices.Clone(r.values[:r.count])
	}
	at := r.count % maxSamples
	return slices.Concat(r.values[at:], r.values[:at])
}

// samples has the recent usage: of all keys together, and of at most [maxCharted] keys
// that are used.
type samples struct {
	every time.Duration

	mu     sync.Mutex
	total  ring
	byKey  map[string]*ring
	before map[string]counts // at the last sample; nil before the first
}

// counts are a key's counts at a sample.
type counts struct {
	requests uint64
	ids      int64
}

func newSamples(every time.Duration) *samples {
	return &samples{every: every, byKey: map[string]*ring{}}
}

// takeSample takes a sample. It is called once in each interval.
func (s *samples) takeSample(loads iter.Seq[worker.KeyLoad]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := make(map[string]counts, len(s.before))
	of := make(map[string]sample, len(s.byKey))
	var total sample
	room := maxCharted - len(s.byKey)
	for l := range loads {
		now[l.Key] = counts{l.Requests, l.IDs}
		one := s.usageSince(s.before[l.Key], l)
		total.requests, total.ids, total.left = total.requests+one.requests, total.ids+one.ids, total.left+one.left
		switch {
		case s.byKey[l.Key] != nil:
			of[l.Key] = one
		case one.ids > 0 && room > 0:
			of[l.Key] = one
			room--
		}
	}
	first := s.before == nil
	s.before = now
	if first {
		return // there is nothing to compare with
	}
	s.total.addSample(total)
	s.putKeys(of)
}

// usageSince returns the usage of a key since the last sample. Counts that have become lower
// began at 0 again in between.
func (s *samples) usageSince(before counts, l worker.KeyLoad) sample {
	if l.Requests < before.requests || l.IDs < before.ids {
		before = counts{}
	}
	seconds := s.every.Seconds()
	return sample{
		requests: float64(l.Requests-before.requests) / seconds, ids: float64(l.IDs-before.ids) / seconds, left: float64(l.Remaining),
	}
}

// putKeys adds a sample to the ring of each key, and drops rings without use.
func (s *samples) putKeys(of map[string]sample) {
	for key := range of {
		if s.byKey[key] == nil {
			s.byKey[key] = &ring{}
		}
	}
	for key, r := range s.byKey {
		if r.addSample(of[key]); r.unused >= maxSamples {
			delete(s.byKey, key)
		}
	}
}

// samplesOf returns the samples of a key, or of all keys for "".
func (s *samples) samplesOf(key string) []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == "" {
		return s.total.list()
	}
	if r := s.byKey[key]; r != nil {
		return r.list()
	}
	return nil
}

// busyKey is a key that is used.
type busyKey struct {
	Key           string
	Requests, IDs float64 // a second, in the last minute
	Left          float64
}

// busiestKeys returns the keys that gave most IDs in the last minute.
func (s *samples) busiestKeys(most int) (keys []busyKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, r := range s.byKey {
		if b := r.lastMinute(s.every); b.IDs > 0 || b.Requests > 0 {
			b.Key = key
			keys = append(keys, b)
		}
	}
	slices.SortFunc(keys, func(a, b busyKey) int {
		return cmp.Or(cmp.Compare(b.IDs, a.IDs), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Key, b.Key))
	})
	return keys[:min(most, len(keys))]
}

// lastMinute returns the mean of the last minute.
func (r *ring) lastMinute(every time.Duration) (b busyKey) {
	n := min(r.count, maxSamples, max(1, int(time.Minute/every)))
	for i := range n {
		s := r.values[(r.count-1-i)%maxSamples]
		b.Requests, b.IDs = b.Requests+s.requests/float64(n), b.IDs+s.ids/float64(n)
	}
	if n > 0 {
		b.Left = r.values[(r.count-1)%maxSamples].left
	}
	return b
}

// drawCharts returns the drawings of a key of a type, or of all keys for "". A snowflake key gives
// worker ids, and has no numbers in memory.
func (s *samples) drawCharts(key string, t idconfig.Type) []chart {
	list := s.samplesOf(key)
	span := duration(s.every * (maxSamples - 1))
	requests := draw("Requests", "a second", span, list, func(s sample) float64 { return s.requests })
	if t == idconfig.TypeSnowflake {
		return []chart{requests, draw("Worker ids leased or renewed", "a second", span, list, func(s sample) float64 { return s.ids })}
	}
	return []chart{
		requests,
		draw("IDs given", "a second", span, list, func(s sample) float64 { return s.ids }),
		draw("Numbers in memory", "left", span, list, func(s sample) float64 { return s.left }),
	}
}

// chartWidth and chartHeight are in units of the drawing, which browsers scale to
// the width of the page.
const chartWidth, chartHeight = 600, 120

// chart is a drawing of samples.
type chart struct {
	Title, Unit string
	Now, Top    string // the last value, and that of the upper edge
	Label       string // says in words what the drawing shows
	Span        string // the time from the left edge to the right one
	Line, Area  string // of the SVG path; "" without samples
}

func draw(title, unit, span string, list []sample, value func(sample) float64) chart {
	c := chart{Title: title, Unit: unit, Span: span, Now: "–"}
	if len(list) == 0 {
		c.Label = title + ": there are no samples yet"
		return c
	}
	highest := 0.0
	for _, s := range list {
		highest = max(highest, value(s))
	}
	top := roundUp(highest)
	points := make([]string, len(list))
	for i, s := range list {
		x := chartWidth * float64(maxSamples-len(list)+i) / (maxSamples - 1)
		y := chartHeight * (1 - value(s)/top)
		points[i] = decimal(x) + " " + decimal(y)
	}
	c.Line = "M" + strings.Join(points, "L")
	left := chartWidth * float64(maxSamples-len(list)) / (maxSamples - 1)
	c.Area = fmt.Sprintf("%sV%dH%sZ", c.Line, chartHeight, decimal(left))
	c.Now, c.Top = quantity(value(list[len(list)-1])), quantity(top)
	c.Label = fmt.Sprintf("%s over the last %s: now %s %s, at most %s", title, span, c.Now, unit, quantity(highest))
	return c
}

// roundUp returns the next number of at most two digits that halve well; at least 1.
func roundUp(v float64) float64 {
	if v <= 1 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 1.5, 2, 3, 4, 6, 8} {
		if v <= step*power {
			return step * power
		}
	}
	return 10 * power
}

func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// quantity writes a number for people: 0.4, 12, 1,234, 12.3k, 4.6M.
func quantity(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
	case v < 10_000:
		return grouped(int64(math.Round(v)))
	case v < 1e6:
		return strconv.FormatFloat(math.Round(v/100)/10, 'f', -1, 64) + "k"
	case v < 1e9:
		return strconv.FormatFloat(math.Round(v/1e5)/10, 'f', -1, 64) + "M"
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// grouped writes a number with commas between thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "−", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// duration writes a time in its largest whole unit.
func duration(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := int64(math.Round(float64(d) / float64(u.unit))); n >= 1 && d >= u.unit {
			return plural(n, u.name)
		}
	}
	return plural(int64(d/time.Second), "second")
}

func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// functions are those of the templates.
var functions = template.FuncMap{
	"asset": assetURL, "grouped": grouped, "quantity": quantity, "duration": duration, "plural": plural,
	"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" },
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}
