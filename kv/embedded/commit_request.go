// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// commitRequest is a transaction on its way through the committer.
type commitRequest struct {
	*txn.Request
	inputs    atomicInputs
	err       error         // why it was not committed
	index     uint16        // its place in the version
	conflicts []kv.KeyRange // its reads that conflict, if it asks for them
}

// gatherInputs takes the inputs that are at hand from v, and returns how many are
// not.
func (r *commitRequest) gatherInputs(v *view) (cold int, err error) {
	r.inputs.version = v.version
	for i := range r.Mutations {
		m := &r.Mutations[i]
		if !m.NeedsValue() {
			continue
		}
		value, there, t, err := v.atHand(m.Key)
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
