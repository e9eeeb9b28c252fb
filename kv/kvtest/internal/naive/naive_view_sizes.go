// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
)

// The naive engine's estimates are no estimates.

func (v naiveView) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	parts, err := v.split(r, 1<<62)
	return kv.Resolved(parts.last, err)
}

func (v naiveView) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	if err := kv.CheckSplitPoints(r, chunkSize); err != nil {
		return kv.Resolved[[][]byte](nil, err)
	}
	if string(r.End) > "\xff" {
		return kv.Resolved[[][]byte](nil, kv.NewError(kv.CodeKeyOutsideLegalRange, ""))
	}
	parts, err := v.split(r, chunkSize)
	return kv.Resolved(parts.bounds, err)
}

// naiveParts are the parts of a range, and the bytes of the last of them.
type naiveParts struct {
	bounds [][]byte
	last   int64
}

func (v naiveView) split(r kv.KeyRange, chunkSize int64) (naiveParts, error) {
	v.t.db.mu.Lock()
	defer v.t.db.mu.Unlock()
	if err := kv.CheckSizeRange(r); err != nil {
		return naiveParts{}, err
	}
	if err := v.t.usable(); err != nil {
		return naiveParts{}, err
	}
	m := v.t.db.last().pairs
	p := naiveParts{bounds: [][]byte{bytes.Clone(r.Begin)}}
	for _, key := range m.Keys() {
		if key < string(r.Begin) || key >= string(r.End) {
			continue
		}
		size := int64(len(key) + len(m[key]))
		if p.last > 0 && p.last+size > chunkSize {
			p.bounds, p.last = append(p.bounds, []byte(key)), 0
		}
		p.last += size
	}
	if !bytes.Equal(r.Begin, r.End) {
		p.bounds = append(p.bounds, bytes.Clone(r.End))
	}
	return p, nil
}
