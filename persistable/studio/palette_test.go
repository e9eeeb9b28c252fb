// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"maps"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/browsertest"
)

// TestPalette computes the contrasts of the colours in both schemes.
func TestPalette(t *testing.T) {
	css, err := static.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, rest, _ := strings.Cut(string(css), "@media (prefers-color-scheme: dark) {")
	system, rest, _ := strings.Cut(rest, `:root[data-theme="dark"] {`)
	chosen, _, ok := strings.Cut(rest, "\n}\n")
	schemes := map[string]browsertest.Palette{"light": browsertest.ReadPalette(light), "dark": browsertest.ReadPalette(chosen)}
	if !ok || len(schemes["light"]) != 24 {
		t.Fatalf("the style sheet has no three blocks of %d colours", len(schemes["light"]))
	}
	if !maps.Equal(browsertest.ReadPalette(system), schemes["dark"]) {
		t.Error("the dark scheme of the system is another one than that of the switch")
	}
	for scheme, colours := range schemes {
		t.Run(scheme, func(t *testing.T) { checkContrasts(t, colours) })
	}
}

func checkContrasts(t *testing.T, colours browsertest.Palette) {
	for _, text := range []string{"text", "quiet", "accent", "bad"} {
		colours.WantContrast(t, 4.5, text, "ground", "surface", "sunken")
	}
	colours.WantContrast(t, 4.5, "text", "tone-0", "tone-1", "tone-2", "tone-3", "tone-4", "tone-5", "accent-soft")
	colours.WantContrast(t, 4.5, "accent", "accent-soft")
	for _, tone := range []string{"good", "warn", "bad"} {
		colours.WantContrast(t, 4.5, tone, tone+"-soft", "surface")
	}
	colours.WantContrast(t, 4.5, "on-accent", "accent")
	colours.WantContrast(t, 4.5, "on-bad", "bad")
	colours.WantContrast(t, 3, "edge", "ground", "surface")
	colours.WantContrast(t, 3, "two", "surface")
}
