// SPDX-License-Identifier: Apache-2.0

package nearest_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/nearest"
)

func TestWord(t *testing.T) {
	keys := []string{"epoch", "bits", "duration"}
	for mistyped, want := range map[string]string{"duratoin": "duration", "Bit": "bits", "epcoh": "epoch", "EPOCHS": "epoch"} {
		if got, _ := nearest.Word(mistyped, keys); got != want {
			t.Errorf("Word(%q) = %q, want %q", mistyped, got, want)
		}
	}
	if word, _ := nearest.Word("x", nil); word != "" {
		t.Errorf("of no words, %q is the nearest", word)
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"kitten", "sitting", 3},
		{"flaw", "lawn", 2},
		{"same", "SAME", 0},
		{"indx", "index", 1},
		{"idnex", "index", 1},
		{"partitoin", "partition", 1},
		{"cover", "unique", 6},
		{"prot", "port", 1},
		{"ca", "abc", 3},
	} {
		if got := nearest.Distance(test.a, test.b); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
		if got := nearest.Distance(test.b, test.a); got != test.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", test.b, test.a, got, test.want)
		}
	}
}
