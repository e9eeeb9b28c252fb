// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"go/token"
	"strconv"
)

// maxShards is the largest number of shards, as index.Shards has it.
const maxShards = 256

// Scatter is the option scatter=N of a type or an index: its keys are
// distributed over N shards.
type Scatter struct {
	Shards int // 0: not scattered
	Offset int // of the option in the tag's literal
	At     token.Position
}

// parseScatter reads the value of the option scatter and returns its fault.
func parseScatter(w word) (s Scatter, message string) {
	n, err := strconv.Atoi(w.value)
	if err != nil || n < 2 || n > maxShards || n&(n-1) != 0 || strconv.Itoa(n) != w.value {
		return s, fmt.Sprintf("scatter=%s is not a number of shards; use a power of two from 2 to %d", w.value, maxShards)
	}
	return Scatter{Shards: n, Offset: w.Offset}, ""
}

// Text is the setting as messages and persist.lock write it.
func (s Scatter) Text() string {
	if s.Shards == 0 {
		return "none"
	}
	return strconv.Itoa(s.Shards)
}

// Ranges is how many ranges a query reads.
func (s Scatter) Ranges() string { return strconv.Itoa(max(s.Shards, 1)) }

// Remark is the text behind the directory of a scattered type.
func (s Scatter) Remark() string {
	if s.Shards == 0 {
		return ""
	}
	return fmt.Sprintf(", scattered over %d shards", s.Shards)
}
