// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"math/bits"

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
	budget     *Budget // nil: none
	maxLeases  int
}

// checkAcquire returns the request that req and ctx make, or what is wrong with
// it.
func (s *Server) checkAcquire(ctx context.Context, req idgen.AcquireRequest) (*acquireRequest, error) {
	service, config, err := s.options.resolveService(req.ServiceID)
	if err != nil {
		return nil, err
	}
	throughput, bitSeq, err := s.options.checkRequest(req, config)
	if err != nil {
		return nil, fmt.Errorf("lease: acquire for service %q: %w", service, err)
	}
	r := &acquireRequest{
		service: service, config: config, throughput: throughput, bitSeq: bitSeq,
		meta: maps.Clone(req.Meta), budget: budgetOf(ctx), maxLeases: s.options.MaxLeases,
	}
	if r.budget != nil {
		r.budget.applied.Store(true)
	}
	if req.RequestKey != "" {
		r.keyHash = requestHash(req.RequestKey)
	}
	return r, nil
}

// keyText returns the hash of the request key as blocks keep it: in hexadecimal,
// empty without a key.
func (r *acquireRequest) keyText() string { return hex.EncodeToString(r.keyHash) }

// exhausted returns the refusal of a request that cannot be met.
func (r *acquireRequest) exhausted() error {
	return &ExhaustedError{ServiceID: r.service, ThroughputPerMs: r.throughput}
}

// checkRequest returns the positions that req asks for, and the size of the
// block to look for, which is at most half of the space.
func (o Options) checkRequest(req idgen.AcquireRequest, c ServiceConfig) (throughput, bitSeq int, err error) {
	throughput = max(req.ThroughputPerMs, 1)
	if most := min(o.MaxThroughputPerMs, 1<<c.spaceBits()); req.ThroughputPerMs < 0 || throughput > most {
		return 0, 0, fmt.Errorf("%w: %d positions per millisecond; it must be from 0 to %d", ErrInvalid, req.ThroughputPerMs, most)
	}
	if len(req.RequestKey) > maxRequestKeyBytes {
		return 0, 0, fmt.Errorf("%w: the request key has %d bytes; it must have at most %d", ErrInvalid, len(req.RequestKey), maxRequestKeyBytes)
	}
	if err := checkMeta(req.Meta); err != nil {
		return 0, 0, err
	}
	bitSeq = max(c.Layout.BitSeq, bits.Len(uint(throughput-1)))
	return throughput, min(bitSeq, c.spaceBits()-1), nil
}

func checkMeta(meta map[string]string) error {
	size := 0
	for name, text := range meta {
		size += len(name) + len(text)
	}
	if len(meta) > maxMetaEntries || size > maxMetaBytes {
		return fmt.Errorf("%w: meta has %d entries of %d bytes; it must have at most %d of %d", ErrInvalid, len(meta), size, maxMetaEntries, maxMetaBytes)
	}
	return nil
}
