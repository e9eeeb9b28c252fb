// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"container/list"

	"github.com/kazahana-db/kazahana/placement"
)

// waiter is a resolve that waits for the answer to a request.
type waiter struct {
	request placement.RequestID
	place   *list.Element // in the list of the request's waiters
	done    func(placement.Resolution, error)
	answer  chan answer // of a waiter without another done
}
