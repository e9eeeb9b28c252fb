// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
)

// fault is what is wrong with a record.
type fault struct {
	code string
	key  []byte
	text string
}

// Error implements error.
func (f *fault) Error() string { return f.text }

func newFault(code string, key []byte, format string, args ...any) *fault {
	return &fault{code, key, fmt.Sprintf(format, args...)}
}
