// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// request is a transaction on its way through the committer.
type request struct {
	*txn.Request
	inputs    atomicInputs
	err       error         // why it was not committed
	index     uint16        // its place in the version
	conflicts []kv.KeyRange // its reads that conflict, if it asks for them
}

// reset makes the request ready to be used for another transaction.
func (r *request) reset() {
	r.inputs.reset()
	r.Request, r.err, r.index, r.conflicts = nil, nil, 0, nil
}

// gatherInputs takes the inputs that are at hand from v, and returns how many are
// not.
func (r *request) gatherInputs(v *mvcc.View) (cold int, err error) {
	r.inputs.version = v.Version()
	for i := range r.Mutations {
		m := &r.Mutations[i]
		if !m.NeedsValue() {
			continue
		}
		value, there, t, err := v.LookUp(m.Key)
		if err != nil {
			return 0, err
		}
		if !there {
			cold++
		}
		r.inputs.values = append(r.inputs.values, atomicInput{key: m.Key, value: value, ticket: t, cold: !there})
	}
	return cold, nil
}
