// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"time"

	idstore "github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/tuple"
)

// check examines a pair of a directory; letter and name are the first elements of the key,
// rest follows. It may read more in b.
type check func(ctx context.Context, b *batch, pair kv.KeyValue, name string, rest []byte) (*fault, error)

// checkParts checks the chunks behind a head.
func checkParts(ctx context.Context, b *batch, head []byte, size int) (*fault, error) {
	left, number := max(size-idstore.ChunkSize, 0), int64(0)
	for chunk, err := range b.pairs(ctx, chunkRange(head), kv.RangeOptions{Mode: kv.ModeWantAll}) {
		if err != nil {
			return nil, err
		}
		number++
		n, _, err := tuple.ReadInt(chunk.Key[len(head):])
		if err != nil || n != number || len(chunk.Value) != min(left, idstore.ChunkSize) || left == 0 {
			return newFault("idservice/missing-chunk", chunk.Key, "it is not the chunk %d of a document of %d bytes", number, size), nil
		}
		left -= len(chunk.Value)
	}
	if left > 0 {
		return newFault("idservice/missing-chunk", head, "%d of its %d bytes are missing", left, size), nil
	}
	return nil, nil
}

// leaseCodes are the codes of the faults that package lease finds.
var leaseCodes = map[lease.FaultKind]string{
	lease.FaultNewer: Newer, lease.FaultRecord: "lease/bad-record", lease.FaultPlace: "lease/bad-place", lease.FaultOverlap: "lease/overlap",
	lease.FaultGap: "lease/gap", lease.FaultFrontier: "lease/frontier", lease.FaultQueue: "lease/queue",
	lease.FaultRequest: "lease/request", lease.FaultCharge: "lease/charge",
}

// endsSoon is when leases that are not renewed are worth a notice, and clockSkew by how much
// clocks may differ.
const (
	endsSoon  = time.Minute
	clockSkew = time.Minute
)

// nameChecks are those of named leases: ("F", name) and ("N", name).
func nameChecks(p *place) map[string]check {
	return map[string]check{
		"F": func(ctx context.Context, b *batch, pair kv.KeyValue, name string, rest []byte) (*fault, error) {
			if len(rest) > 0 {
				return newFault("system/stray-key", pair.Key, "%d bytes follow the name", len(rest)), nil
			}
			renewal, err := b.value(ctx, p.pack("N", name))
			if err != nil {
				return nil, err
			}
			_, err = leasefdb.DecodeState(name, pair.Key, pair.Value, renewal)
			switch {
			case err != nil:
				return newFault("name/bad-state", pair.Key, "%v", errors.Unwrap(err)), nil
			case renewal == nil:
				return newFault("name/missing-renewal", pair.Key, "%q has no counter of renewals", name), nil
			}
			return nil, nil
		},
		"N": func(ctx context.Context, b *batch, pair kv.KeyValue, name string, rest []byte) (*fault, error) {
			if len(rest) > 0 || len(pair.Value) != 8 {
				return newFault("name/bad-state", pair.Key, "it is no counter of 8 bytes"), nil
			}
			fence, err := b.value(ctx, p.pack("F", name))
			if err == nil && fence == nil {
				return newFault("name/missing-fence", pair.Key, "%q was renewed, and has no epoch", name), nil
			}
			return nil, err
		},
	}
}
