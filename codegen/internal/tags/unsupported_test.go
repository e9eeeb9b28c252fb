// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"strings"
	"testing"
)

// TestUnsupportedOptions gives options that other libraries have, to fields and
// to indexes: the fault says that they are not supported.
func TestUnsupportedOptions(t *testing.T) {
	for _, literal := range []string{"`persist:\"%s\"`", "`persist:\"index,%s\"`"} {
		for _, option := range []string{"desc", "descending=true", "asc", "ascending", "sparse", "partial"} {
			parsed, _, _, err := Parse(strings.Replace(literal, "%s", option, 1))
			if err != nil {
				t.Fatal(err)
			}
			_, ofField := ParseFieldOptions(parsed)
			_, ofIndex := ParseIndexOptions(parsed)
			for _, found := range [][]Fault{ofField, ofIndex} {
				if len(found) != 1 || !strings.Contains(found[0].Message, "not supported") {
					t.Errorf("%s: faults %v, want one that says it is not supported", strings.Replace(literal, "%s", option, 1), found)
				}
			}
		}
	}
}
