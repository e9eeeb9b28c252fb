// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"fmt"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// Predecessor is a lock with which the next one is compared, and where it comes
// from: a file, or REVISION:FILE.
type Predecessor struct {
	Lock *schema.Schema
	Name string
}

// describeLine names a line of a lock.
func (a Predecessor) describeLine(line int) string { return fmt.Sprintf("%s:%d", a.Name, line) }
