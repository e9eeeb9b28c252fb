// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"time"
)

// BusyError says that an activation was not ended for idleness, because it was
// used meanwhile.
type BusyError struct {
	UsedAt time.Time
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("driver: the activation was used at %v", e.UsedAt.Format(time.RFC3339Nano))
}
