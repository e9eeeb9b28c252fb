// SPDX-License-Identifier: Apache-2.0

package console

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/browsertest"
)

// TestContrast computes the contrasts of the palette in both schemes.
func TestContrast(t *testing.T) {
	light, rest, ok := strings.Cut(string(assets["console.css"].content), "@media (prefers-color-scheme: dark) {")
	if !ok {
		t.Fatal("there is no dark scheme")
	}
	dark, _, _ := strings.Cut(rest, "\n}\n")
	extremes := browsertest.ReadPalette("--black: #000000; --white: #ffffff;")
	if got := extremes.Contrast("black", "white"); math.Abs(got-21) > 0.001 {
		t.Fatalf("black on white has the contrast %v", got)
	}
	for scheme, css := range map[string]string{"light": light, "dark": dark} {
		t.Run(scheme, func(t *testing.T) { checkContrasts(t, browsertest.ReadPalette(css)) })
	}
}

func checkContrasts(t *testing.T, colours browsertest.Palette) {
	if len(colours) != 17 {
		t.Errorf("there are %d colours", len(colours))
	}
	for _, text := range []string{"text", "quiet", "accent", "bad"} {
		colours.WantContrast(t, 4.5, text, "ground", "surface", "sunken")
	}
	for _, tone := range []string{"good", "warn", "bad"} {
		colours.WantContrast(t, 4.5, tone, tone+"-soft", "surface")
	}
	colours.WantContrast(t, 4.5, "bad", "bad-soft")
	colours.WantContrast(t, 4.5, "on-accent", "accent", "good", "warn") // the numbers in the bits of an ID, too
	colours.WantContrast(t, 4.5, "on-bad", "bad")
	colours.WantContrast(t, 3, "edge", "ground", "surface")
	colours.WantContrast(t, 3, "accent", "accent-soft")
}

var literal = regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(`)

// TestColoursAreOfThePalette: the style sheet uses no colour outside of the palette.
func TestColoursAreOfThePalette(t *testing.T) {
	for i, line := range strings.Split(string(assets["console.css"].content), "\n") {
		if found := literal.FindString(line); found != "" && len(browsertest.ReadPalette(line)) == 0 {
			t.Errorf("console.css:%d: the colour %s is not of the palette", i+1, found)
		}
	}
}
