// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
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

// Size formats a number of bytes: 999 B, 1.5 kB, 12 MB.
func Size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n), -1
	for ; size >= 999.5 && unit < 5; unit++ {
		size /= 1000
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %cB", size, "kMGTPE"[unit])
	}
	return fmt.Sprintf("%.0f %cB", size, "kMGTPE"[unit])
}
