// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var colour = regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`)

// palette returns the luminance of each colour in a block of custom properties, as WCAG 2.2 defines
// it.
func palette(css string) map[string]float64 {
	colours := map[string]float64{}
	for _, m := range colour.FindAllStringSubmatch(css, -1) {
		colours[m[1]] = luminance(m[2])
	}
	return colours
}

func luminance(hex string) (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8) // the pattern has only digits
		if c := float64(n) / 255; c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// TestPalette computes the contrasts of the colours in both schemes.
func TestPalette(t *testing.T) {
	css, err := static.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, rest, _ := strings.Cut(string(css), "@media (prefers-color-scheme: dark) {")
	system, rest, _ := strings.Cut(rest, `:root[data-theme="dark"] {`)
	chosen, _, ok := strings.Cut(rest, "\n}\n")
	if !ok || len(palette(light)) != 24 {
		t.Fatalf("the style sheet has no three blocks of %d colours", len(palette(light)))
	}
	if !maps.Equal(palette(system), palette(chosen)) {
		t.Error("the dark scheme of the system is another one than that of the switch")
	}
	for scheme, colours := range map[string]map[string]float64{"light": palette(light), "dark": palette(chosen)} {
		checkContrasts(t, scheme, colours)
	}
}

func checkContrasts(t *testing.T, scheme string, colours map[string]float64) {
	want := func(least float64, text string, grounds ...string) {
		for _, ground := range grounds {
			a, b := colours[text], colours[ground]
			if got := (max(a, b) + 0.05) / (min(a, b) + 0.05); got < least {
				t.Errorf("%s: %s on %s has the contrast %.2f, at least %v is wanted", scheme, text, ground, got, least)
			}
		}
	}
	for _, text := range []string{"text", "quiet", "accent", "bad"} {
		want(4.5, text, "ground", "surface", "sunken")
	}
	want(4.5, "text", "tone-0", "tone-1", "tone-2", "tone-3", "tone-4", "tone-5", "accent-soft")
	want(4.5, "accent", "accent-soft")
	for _, tone := range []string{"good", "warn", "bad"} {
		want(4.5, tone, tone+"-soft", "surface")
	}
	want(4.5, "on-accent", "accent")
	want(4.5, "on-bad", "bad")
	want(3, "edge", "ground", "surface")
	want(3, "two", "surface")
}
