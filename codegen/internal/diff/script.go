// SPDX-License-Identifier: Apache-2.0

package diff

import "slices"

// edit is one line of an edit script.
type edit struct {
	op   byte // ' ', '-' or '+'
	line string
}

// editScript is a shortest script from a to b: Myers, "An O(ND) Difference
// Algorithm and Its Variations" (1986), greedy, on what common beginnings and
// ends leave.
func editScript(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var script []edit
	for _, line := range a[:head] {
		script = append(script, edit{' ', line})
	}
	script = append(script, shortestScript(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, line := range a[len(a)-tail:] {
		script = append(script, edit{' ', line})
	}
	return script
}

// mostEdits bounds the search for a shortest script, whose time and memory grow with the square
// of the edits. Beyond it all lines are replaced: the texts have little in common.
const mostEdits = 2000

// shortestScript searches the furthest reaching paths by number of edits and
// walks back along them.
func shortestScript(a, b []string) []edit {
	if len(a) == 0 || len(b) == 0 {
		return replaceLines(a, b)
	}
	limit := min(len(a)+len(b), mostEdits)
	reach := make([]int32, 2*limit+3) // by diagonal x-y, offset by limit+1
	var trace []paths
	for d := 0; d <= limit; d++ {
		before := paths{d, slices.Clone(reach[limit-d : limit+d+3])}
		trace = append(trace, before)
		for k := -d; k <= d; k += 2 {
			x := before.startOf(k)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[limit+1+k] = int32(x)
			if x >= len(a) && x-k >= len(b) {
				return walkBack(trace, a, b)
			}
		}
	}
	return replaceLines(a, b)
}

// replaceLines is the script that removes all lines and adds the others.
func replaceLines(a, b []string) (script []edit) {
	for _, line := range a {
		script = append(script, edit{'-', line})
	}
	for _, line := range b {
		script = append(script, edit{'+', line})
	}
	return script
}

// paths are how far the paths before the d-th edit reach.
type paths struct {
	d     int
	reach []int32 // by diagonal, from -d-1 to d+1
}

func (p paths) at(k int) int { return int(p.reach[p.d+1+k]) }

// inserts reports whether the d-th edit of the path on diagonal k is an insertion, from the diagonal
// above; the others are deletions, from the one below.
func (p paths) inserts(k int) bool {
	return k == -p.d || k != p.d && p.at(k-1) < p.at(k+1)
}

// startOf is where the d-th edit puts the path on diagonal k.
func (p paths) startOf(k int) int {
	switch {
	case p.d == 0:
		return 0
	case p.inserts(k):
		return p.at(k + 1)
	}
	return p.at(k-1) + 1
}

func walkBack(trace []paths, a, b []string) []edit {
	var reversed []edit
	x, y := len(a), len(b)
	for _, before := range slices.Backward(trace) {
		k := x - y
		start := before.startOf(k)
		for x > start && y > start-k {
			x, y = x-1, y-1
			reversed = append(reversed, edit{' ', a[x]})
		}
		switch {
		case before.d == 0:
		case before.inserts(k):
			y--
			reversed = append(reversed, edit{'+', b[y]})
		default:
			x--
			reversed = append(reversed, edit{'-', a[x]})
		}
	}
	slices.Reverse(reversed)
	return reversed
}
