// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
)

// The lines by which git, and others, mark what they could not merge.
const (
	conflictBegin = "<<<<<<<"
	conflictBase  = "|||||||"
	conflictSides = "======="
	conflictEnd   = ">>>>>>>"
)

// conflict is a part of a file that a merge left with both sides.
type conflict struct {
	begin, end int  // lines; 0 if that marker is missing
	based      bool // the common ancestor's lines are there, too
}

// findConflicts returns the conflicts that are marked in a text.
func findConflicts(text string) (list []conflict) {
	open := conflict{}
	for i, line := range strings.Split(text, "\n") {
		number, marker := i+1, line[:min(len(line), len(conflictBegin))]
		switch {
		case marker == conflictBegin && open.begin != 0:
			list = append(list, open)
			open = conflict{begin: number}
		case marker == conflictBegin:
			open.begin = number
		case marker == conflictBase:
			open.based = true
		case marker == conflictEnd, marker == conflictSides && open.begin == 0:
			open.end = number
			list = append(list, open)
			open = conflict{}
		}
	}
	if open.begin != 0 {
		list = append(list, open)
	}
	return list
}

// fault says what to do about the conflict.
func (c conflict) fault() Fault {
	const thenRun = "and run persistgen, which reports the numbers that both sides gave to different fields"
	switch {
	case c.begin == 0:
		return Fault{c.end, "a marker of a merge is left: delete the line, keep the fields and indexes of both sides, " + thenRun}
	case c.end == 0:
		return Fault{c.begin, "a merge conflict begins here, and its end is missing: keep the lines of both sides, delete the line, " + thenRun}
	}
	markers := fmt.Sprintf("the lines that begin with %s, %s and %s", conflictBegin, conflictSides, conflictEnd)
	if c.based {
		markers += fmt.Sprintf(", and all from %s to %s, which are the common ancestor's", conflictBase, conflictSides)
	}
	return Fault{c.begin, fmt.Sprintf("a merge conflict, to line %d: keep the lines of both sides, delete %s, %s", c.end, markers, thenRun)}
}
