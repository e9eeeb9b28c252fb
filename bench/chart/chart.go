// SPDX-License-Identifier: Apache-2.0

// Package chart draws lines on logarithmic axes as SVG.
package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Chart is lines over two logarithmic axes.
type Chart struct {
	Title, Subtitle string
	X, Y            string // labels of the axes
	Lines           []Line
}

// Line is a row of points, in the order of X, with its name at the last one.
type Line struct {
	Name   string
	Points []Point
	Color  string
	Dashed bool
}

// Point is a point; both numbers are positive.
type Point struct{ X, Y float64 }

// The size of the chart, in pixels.
const (
	width, height = 900, 560
	left, right   = 90, 200 // margins; the right one holds the names of the lines
	top, bottom   = 80, 70
	apart         = 17 // between the names of lines
)

// SVG returns the chart as an SVG document.
func (c *Chart) SVG() string {
	x, y := c.axes()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" fill="#222">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	text(&b, left, 32, "start", ` font-size="19" font-weight="bold"`, c.Title)
	text(&b, left, 54, "start", ` fill="#666"`, c.Subtitle)
	drawX(&b, x)
	drawY(&b, y)
	text(&b, (left+width-right)/2, height-18, "middle", "", c.X)
	text(&b, 0, 0, "middle", fmt.Sprintf(` transform="translate(22 %d) rotate(-90)"`, (top+height-bottom)/2), c.Y)
	for _, line := range c.Lines {
		drawLine(&b, line, x, y)
	}
	c.drawNames(&b, x, y)
	b.WriteString("</svg>\n")
	return b.String()
}

// axis maps the decades from low to high to pixels.
type axis struct {
	low, high  int
	begin, end float64
}

func (a axis) at(v float64) float64 {
	return a.begin + (math.Log10(v)-float64(a.low))/float64(a.high-a.low)*(a.end-a.begin)
}

// axes returns axes that all points fit on.
func (c *Chart) axes() (x, y axis) {
	var xs, ys []float64
	for _, line := range c.Lines {
		for _, p := range line.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	x, y = decades(xs), decades(ys)
	x.begin, x.end = left, width-right
	y.begin, y.end = height-bottom, top
	return x, y
}

func decades(values []float64) axis {
	if len(values) == 0 {
		return axis{low: 0, high: 1}
	}
	low, high := int(math.Floor(math.Log10(slices.Min(values)))), int(math.Ceil(math.Log10(slices.Max(values))))
	return axis{low: low, high: max(high, low+1)}
}

// each calls do for every grid line: whole decades, and what lies between.
func (a axis) each(do func(v float64, whole bool)) {
	for decade := a.low; decade <= a.high; decade++ {
		v := math.Pow10(decade)
		do(v, true)
		for n := 2.0; n < 10 && decade < a.high; n++ {
			do(n*v, false)
		}
	}
}

func shade(whole bool) string {
	if whole {
		return "#bbb"
	}
	return "#eee"
}

func drawX(b *strings.Builder, x axis) {
	x.each(func(v float64, whole bool) {
		fmt.Fprintf(b, `<path d="M%.1f %d V%d" stroke="%s"/>`+"\n", x.at(v), top, height-bottom, shade(whole))
		if whole {
			text(b, x.at(v), height-bottom+20, "middle", "", short(v))
		}
	})
}

func drawY(b *strings.Builder, y axis) {
	y.each(func(v float64, whole bool) {
		fmt.Fprintf(b, `<path d="M%d %.1f H%d" stroke="%s"/>`+"\n", left, y.at(v), width-right, shade(whole))
		if whole {
			text(b, left-8, y.at(v)+4, "end", "", short(v))
		}
	})
}

func drawLine(b *strings.Builder, line Line, x, y axis) {
	dash := ""
	if line.Dashed {
		dash = ` stroke-dasharray="6 4"`
	}
	var path []string
	for _, p := range line.Points {
		path = append(path, fmt.Sprintf("%.1f,%.1f", x.at(p.X), y.at(p.Y)))
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(path, " "), line.Color, dash)
	for _, p := range line.Points {
		fill := line.Color
		if line.Dashed {
			fill = "#fff"
		}
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s" stroke="%s" stroke-width="1.5"><title>%s: %s</title></circle>`+"\n",
			x.at(p.X), y.at(p.Y), fill, line.Color, html.EscapeString(line.Name), short(p.Y))
	}
}

// drawNames writes the name of each line next to its last point, and moves names apart
// that would overlap.
func (c *Chart) drawNames(b *strings.Builder, x, y axis) {
	type name struct {
		line Line
		y    float64
	}
	var names []name
	for _, line := range c.Lines {
		if len(line.Points) > 0 {
			names = append(names, name{line, y.at(line.Points[len(line.Points)-1].Y)})
		}
	}
	slices.SortStableFunc(names, func(a, b name) int { return int(math.Copysign(1, a.y-b.y)) })
	for i := 1; i < len(names); i++ {
		names[i].y = max(names[i].y, names[i-1].y+apart)
	}
	for i := len(names) - 1; i >= 0; i-- {
		lowest := float64(height - bottom - (len(names)-1-i)*apart)
		names[i].y = min(names[i].y, lowest)
	}
	for _, n := range names {
		last := n.line.Points[len(n.line.Points)-1]
		fmt.Fprintf(b, `<path d="M%.1f %.1f L%d %.1f" stroke="%s" stroke-width="0.7"/>`+"\n", x.at(last.X)+4, y.at(last.Y), width-right+20, n.y, n.line.Color)
		text(b, width-right+24, n.y+4, "start", fmt.Sprintf(` fill="%s"`, n.line.Color), n.line.Name)
	}
}

func text(b *strings.Builder, x, y float64, anchor, attributes, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, attributes, html.EscapeString(s))
}

// short writes a number with its thousands as a letter.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.3g%s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.3g", v)
}
