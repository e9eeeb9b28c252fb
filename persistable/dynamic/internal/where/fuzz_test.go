// SPDX-License-Identifier: Apache-2.0

package where_test

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/where"
)

// FuzzParse: any text is a condition of comparisons, or refused at a place within it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`Status = 1`, `Status in (1, 2) and (Country = "DE" or At >= 2026-01-01T00:00:00Z)`, `a!=null or b<='x y' AND c > -1.5`, `(((a=b)))`, `a = "\x`, `a in (`, `Köln = 'ö'`, `Name prefix "A" or B PREFIX b`, `prefix prefix prefix`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := where.Parse(text)
		var fault *where.Error
		switch {
		case err == nil && comparisons(e) == 0:
			t.Fatalf("%q has no comparison", text)
		case err != nil && (!errors.As(err, &fault) || fault.At < 1 || fault.At > len(text)+1 || fault.Reason == ""):
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// comparisons counts the comparisons of a condition.
func comparisons(e where.Expression) int {
	if e.Comparison != nil {
		return len(e.Comparison.Values)
	}
	n := 0
	for _, list := range [][]where.Expression{e.All, e.Any} {
		for _, part := range list {
			n += comparisons(part)
		}
	}
	return n
}
