// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"time"
)

// waitState is how long one call has waited.
type waitState struct {
	ctx    context.Context
	ended  bool          // ctx had ended before the call began to wait
	slept  time.Duration // for clocks and leases
	yields int           // since the last sleep, because a millisecond was used up
}
