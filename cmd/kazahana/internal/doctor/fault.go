// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/newer"
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
	return &fault{codeFor(code, args), key, fmt.Sprintf(format, args...)}
}

// codeFor returns the code of a finding with those arguments: what a newer version wrote is
// no damage, whatever it is about.
func codeFor(code string, args []any) string {
	for _, arg := range args {
		if err, is := arg.(error); is && errors.Is(err, newer.Err) {
			return Newer
		}
	}
	return code
}
