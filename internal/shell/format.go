// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"maps"
	"slices"
	"time"
)

// Stamp formats a time to the second, in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Pairs formats names and values as words, each behind a space: " host=a n=1".
// The names are in order.
func Pairs(values map[string]string) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text += " " + Word(name) + "=" + Word(values[name])
	}
	return text
}
