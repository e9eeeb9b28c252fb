// SPDX-License-Identifier: Apache-2.0

package diff

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

// shortestScript searches the furthest reaching paths by number of edits and
// walks back along them.
func shortestScript(a, b []string) []edit {
	limit := len(a) + len(b)
	reach := make([]int, 2*limit+2) // by diagonal x-y, offset by limit
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), reach...))
		for k := -d; k <= d; k += 2 {
			x := startOf(reach, limit, d, k)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[limit+k] = x
			if x >= len(a) && x-k >= len(b) {
				return walkBack(trace, limit, a, b)
			}
		}
	}
	return nil
}

// startOf is where the d-th edit puts the path on diagonal k: a deletion from
// the diagonal below, or an insertion from the one above.
func startOf(reach []int, limit, d, k int) int {
	if d == 0 {
		return 0
	}
	if k == -d || k != d && reach[limit+k-1] < reach[limit+k+1] {
		return reach[limit+k+1]
	}
	return reach[limit+k-1] + 1
}

func walkBack(trace [][]int, limit int, a, b []string) []edit {
	var reversed []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		k := x - y
		start := startOf(trace[d], limit, d, k)
		for x > start && y > start-k {
			x, y = x-1, y-1
			reversed = append(reversed, edit{' ', a[x]})
		}
		switch {
		case d == 0:
		case start == trace[d][min(limit+k+1, len(trace[d])-1)] && (k == -d || k != d && trace[d][limit+k-1] < trace[d][limit+k+1]):
			y--
			reversed = append(reversed, edit{'+', b[y]})
		default:
			x--
			reversed = append(reversed, edit{'-', a[x]})
		}
	}
	script := make([]edit, len(reversed))
	for i, e := range reversed {
		script[len(reversed)-1-i] = e
	}
	return script
}
