// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"
	"slices"
	"strings"
)

// shape leaves out what is particular to one scenario.
func (d difference) shape() string {
	op, _, _ := strings.Cut(d.op, "(")
	if _, call, ok := strings.Cut(op, ": "); ok {
		op = call
	}
	want, got := kindOf(d.want), kindOf(d.got)
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

func showDifferences(all []difference) string {
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

// difference is a step, or the final contents, that came out otherwise.
type difference struct {
	step int // -1: the final contents
	op   string
	want string
	got  string
}

// String tells the difference in two lines.
func (d difference) String() string {
	where := fmt.Sprintf("step %d %s", d.step, d.op)
	if d.step < 0 {
		where = d.op
	}
	return fmt.Sprintf("%s\n\twant %s\n\tgot  %s", where, d.want, d.got)
}
