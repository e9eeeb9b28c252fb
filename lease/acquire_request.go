// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"encoding/hex"
)

// acquireRequest is a valid request for leases. No transaction changes it.
type acquireRequest struct {
	service    string
	config     ServiceConfig
	throughput int    // positions of a millisecond
	bitSeq     int    // the size of one block that has them all, if half of the space does
	keyHash    []byte // of the request key; nil without one
	meta       map[string]string
	budget     *Budget // nil: none
	maxLeases  int
}

// keyText returns the hash of the request key as blocks keep it: in hexadecimal,
// empty without a key.
func (r *acquireRequest) keyText() string { return hex.EncodeToString(r.keyHash) }

// exhausted returns the refusal of a request that cannot be met.
func (r *acquireRequest) exhausted() error {
	return &ExhaustedError{ServiceID: r.service, ThroughputPerMs: r.throughput}
}
