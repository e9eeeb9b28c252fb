// SPDX-License-Identifier: Apache-2.0

package console

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var property = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`)

// palette returns the colours of a block of custom properties.
func palette(css string) map[string]float64 {
	colours := map[string]float64{}
	for _, m := range property.FindAllStringSubmatch(css, -1) {
		colours[m[1]] = luminance(m[2])
	}
	return colours
}

// luminance is the relative luminance of a colour, as WCAG 2.2 defines it.
func luminance(hex string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if c := float64(n) / 255; c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

// TestContrast computes the contrasts of the palette in both schemes.
func TestContrast(t *testing.T) {
	light, rest, ok := strings.Cut(string(assets["console.css"].content), "@media (prefers-color-scheme: dark) {")
	if !ok {
		t.Fatal("there is no dark scheme")
	}
	dark, _, _ := strings.Cut(rest, "\n}\n")
	if got := contrast(luminance("000000"), luminance("ffffff")); math.Abs(got-21) > 0.001 {
		t.Fatalf("black on white has the contrast %v", got)
	}
	for scheme, colours := range map[string]map[string]float64{"light": palette(light), "dark": palette(dark)} {
		if len(colours) != 17 {
			t.Errorf("%s: %d colours", scheme, len(colours))
		}
		want := func(least float64, text string, grounds ...string) {
			for _, ground := range grounds {
				a, hasText := colours[text]
				b, hasGround := colours[ground]
				if got := contrast(a, b); !hasText || !hasGround || got < least {
					t.Errorf("%s: %s on %s has the contrast %.2f, at least %v is wanted", scheme, text, ground, got, least)
				}
			}
		}
		for _, text := range []string{"text", "quiet", "accent", "bad"} {
			want(4.5, text, "ground", "surface", "sunken")
		}
		for _, tone := range []string{"good", "warn", "bad"} {
			want(4.5, tone, tone+"-soft", "surface")
		}
		want(4.5, "bad", "bad-soft")
		want(4.5, "on-accent", "accent", "good", "warn") // also the numbers in the bits of an ID
		want(4.5, "on-bad", "bad")
		want(3, "edge", "ground", "surface")
		want(3, "accent", "accent-soft")
	}
}

var literal = regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(`)

// TestColoursAreOfThePalette: the style sheet uses no colour outside of the palette.
func TestColoursAreOfThePalette(t *testing.T) {
	for i, line := range strings.Split(string(assets["console.css"].content), "\n") {
		if found := literal.FindString(line); found != "" && !property.MatchString(line) {
			t.Errorf("console.css:%d: the colour %s is not of the palette", i+1, found)
		}
	}
}
