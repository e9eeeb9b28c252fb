// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
)

// releasedLease is a lease that was released, for when its release is repeated.
type releasedLease struct {
	Created int64  `json:"created"`
	LastTs  int64  `json:"lastTs"`
	Secret  string `json:"secret"`
}

// checkRepeat checks a release of the lease before the present one of the block.
func (r *releasedLease) checkRepeat(req idgen.ReleaseRequest) error {
	if r == nil || r.Created != req.Created {
		return ErrNotFound
	}
	if !req.Verify(r.Secret) {
		return ErrSignature
	}
	return checkSameLastTs(r.LastTs, req)
}

func checkSameLastTs(first int64, req idgen.ReleaseRequest) error {
	if req.LastTs != first {
		return fmt.Errorf("%w: %d; the lease was released with %d before", ErrLastTs, req.LastTs, first)
	}
	return nil
}
