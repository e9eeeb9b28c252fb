// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

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
