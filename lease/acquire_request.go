// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"encoding/hex"
	"slices"

	"github.com/kazahana-db/kazahana/idgen"
)

// acquireRequest is a valid request for leases. No transaction changes it.
type acquireRequest struct {
	service    string
	config     ServiceConfig
	throughput int    // positions of a millisecond
	bitSeq     int    // the size of one block that has them all, if half of the space does
	keyHash    []byte // of the request key; nil without one
	meta       map[string]string
	budget     *Budget    // nil: none
	replaces   []leaseRef // distinct
	maxLeases  int
}

// keyText returns the hash of the request key as blocks keep it: in hexadecimal,
// empty without a key.
func (r *acquireRequest) keyText() string { return hex.EncodeToString(r.keyHash) }

// exhausted returns the refusal of a request that cannot be met.
func (r *acquireRequest) exhausted() error {
	return &ExhaustedError{ServiceID: r.service, ThroughputPerMs: r.throughput}
}

// addReplaces adds the leases that the request replaces. One that the service cannot have
// replaces nothing.
func (r *acquireRequest) addReplaces(refs []idgen.LeaseRef) {
	for _, ref := range refs {
		base, err := r.config.baseOf(ref.ID, ref.BitSeq)
		known := slices.ContainsFunc(r.replaces, func(l leaseRef) bool { return l.Base == base })
		if err == nil && !known {
			r.replaces = append(r.replaces, leaseRef{Base: base, Created: ref.Created})
		}
	}
}
