// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

var sample = Chart{
	Title: "Growth <of> things", X: "keys", Y: "per second",
	Lines: []Line{
		{Name: "a & b", Color: "#06c", Points: []Point{{1e4, 2e5}, {1e7, 1e5}}},
		{Name: "the same end", Color: "#c60", Points: []Point{{1e4, 3e5}, {1e7, 1e5}}, Dashed: true},
	},
}

func TestSVGIsXML(t *testing.T) {
	circles, names := 0, map[string]string{}
	d := xml.NewDecoder(strings.NewReader(sample.SVG()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if element.Name.Local == "circle" {
			circles++
		}
		if element.Name.Local == "text" {
			content, err := d.Token()
			if data, ok := content.(xml.CharData); ok && err == nil {
				names[string(data)] = element.Attr[1].Value
			}
		}
	}
	if circles != 4 {
		t.Errorf("%d circles for 4 points", circles)
	}
	for _, name := range []string{"Growth <of> things", "keys", "per second", "10 k", "10 M", "100 k", "1 M"} {
		if _, ok := names[name]; !ok {
			t.Errorf("no text %q", name)
		}
	}
	if names["a & b"] == "" || names["a & b"] == names["the same end"] {
		t.Errorf("names of lines lie at %q and %q", names["a & b"], names["the same end"])
	}
}

func TestAxisIsLogarithmic(t *testing.T) {
	a := decades([]float64{15, 99_000})
	a.begin, a.end = 0, 400
	if a.low != 1 || a.high != 5 {
		t.Fatalf("decades %d to %d, want 1 to 5", a.low, a.high)
	}
	for v, want := range map[float64]float64{10: 0, 100: 100, 1000: 200, 1e5: 400} {
		if got := a.at(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v lies at %v, want %v", v, got, want)
		}
	}
	if one := decades([]float64{100}); one.high <= one.low {
		t.Errorf("an axis of one value has no length: %+v", one)
	}
}
