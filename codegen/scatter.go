// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/token"
	"strconv"
)

// maxShards is the largest number of shards, as index.Shards has it.
const maxShards = 256

// scatter is the option scatter=N of a type or an index: its keys are
// distributed over N shards.
type scatter struct {
	shards int // 0: not scattered
	offset int // of the option in the tag's literal
	at     token.Position
}

// parseScatter reads the value of the option scatter and returns its fault.
func parseScatter(w word) (s scatter, message string) {
	n, err := strconv.Atoi(w.value)
	if err != nil || n < 2 || n > maxShards || n&(n-1) != 0 || strconv.Itoa(n) != w.value {
		return s, fmt.Sprintf("scatter=%s is not a number of shards; use a power of two from 2 to %d", w.value, maxShards)
	}
	return scatter{shards: n, offset: w.at}, ""
}

// scatterAt is where a fault of the option's value is.
func (w word) scatterAt() int {
	if w.hasValue {
		return w.valueAt
	}
	return w.at
}

// text is the setting for people and for persist.lock.
func (s scatter) text() string {
	if s.shards == 0 {
		return "none"
	}
	return strconv.Itoa(s.shards)
}

// ranges is how many ranges a query reads.
func (s scatter) ranges() string { return strconv.Itoa(max(s.shards, 1)) }

// remark is what stands behind the directory of a scattered type.
func (s scatter) remark() string {
	if s.shards == 0 {
		return ""
	}
	return fmt.Sprintf(", scattered over %d shards", s.shards)
}
