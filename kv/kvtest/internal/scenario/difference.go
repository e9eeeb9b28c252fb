// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Shape leaves out what is particular to one scenario.
func (d Difference) Shape() string {
	op, _, _ := strings.Cut(d.Op, "(")
	if _, call, ok := strings.Cut(op, ": "); ok {
		op = call
	}
	want, got := kindOf(d.Want), kindOf(d.Got)
	if want == got {
		return fmt.Sprintf("%s: another %s", op, want)
	}
	return fmt.Sprintf("%s: want %s, got %s", op, want, got)
}

// kindOf shortens a shown answer to its kind: an error keeps its code.
func kindOf(shown string) string {
	switch kind, rest, _ := strings.Cut(shown, " "); {
	case strings.HasPrefix(shown, "error"), shown == "no error":
		text, _, _ := strings.Cut(shown, " (")
		return text
	case strings.HasPrefix(rest, "pairs"):
		return "pairs"
	case kind == "read":
		return "conflict ranges"
	case rest == "absent":
		return shown
	case slices.Contains([]string{"value", "key", "versionstamp", "version", "size"}, kind):
		return kind
	}
	return shown
}

func ShowDifferences(all []Difference) string {
	const most = 5
	var b strings.Builder
	for i, d := range all {
		if i == most {
			fmt.Fprintf(&b, "\n…and %d more", len(all)-most)
			break
		}
		fmt.Fprintf(&b, "\n%s", d)
	}
	return b.String()
}

// Difference is a step, or the final contents, that came out otherwise.
type Difference struct {
	Step int // -1: the final contents
	Op   string
	Want string
	Got  string
}

// String tells the difference in two lines.
func (d Difference) String() string {
	where := fmt.Sprintf("step %d %s", d.Step, d.Op)
	if d.Step < 0 {
		where = d.Op
	}
	return fmt.Sprintf("%s\n\twant %s\n\tgot  %s", where, d.Want, d.Got)
}
