// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"math"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// batch is what is committed together: the requests of one version.
type batch struct {
	version  int64
	requests []*request
	accepted int
	changes  []mutation.Mutation // of the accepted, resolved to sets and clears
	frame    []byte              // for the log: the changes, encoded
	view     *mvcc.View          // the database after it
	cost     int64               // bytes that were written to the window or copied there

	published bool // the view is one that can be read
}

// recordBytes is the size at which a record of the log takes no more.
const recordBytes = 32 << 20

// full reports whether the batch can take no more: one version can tell only so
// many transactions apart.
func (b *batch) full() bool {
	return len(b.requests) >= math.MaxUint16 || len(b.frame) >= recordBytes
}

// refuse lets none of the batch be committed.
func (b *batch) refuse(err error) {
	for _, r := range b.requests {
		if r.err == nil {
			r.err = err
		}
	}
}
