// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// request is a transaction on its way through the committer.
type request struct {
	*txn.Request
	inputs    atomicInputs
	err       error         // why it was not committed
	index     uint16        // its place in the version
	results   int64         // bytes that its atomic operations make, beyond the operands, as far as is known
	conflicts []kv.KeyRange // its reads that conflict, if it asks for them
}

// reset makes the request ready to be used for another transaction.
func (r *request) reset() {
	r.inputs.reset()
	r.Request, r.err, r.index, r.conflicts, r.results = nil, nil, 0, nil, 0
}

// mostResults is how many bytes the atomic operations of a transaction may read, and
// how many those may make that keep the value before them: see [Committer.checkResults].
const mostResults = 32 << 20

// kept returns how many bytes the request keeps in memory, about.
func (r *request) kept() int64 { return r.Bytes + r.inputs.bytes.Load() }

// checkInputs returns an error if the atomic operations read too much.
func (r *request) checkInputs() error {
	if size := r.inputs.bytes.Load(); size > mostResults {
		return tooLargeResults(size)
	}
	return nil
}

// weight returns how many bytes the request keeps in memory, and those that it will write
// to the window.
func (r *request) weight() int64 { return r.kept() + r.results }

// keeping returns how many of the request's operations keep the value before them.
func (r *request) keeping() (n int64) {
	for i := range r.Mutations {
		if mutation.KeepsValue(r.Mutations[i].Op) {
			n++
		}
	}
	return n
}

// resultBytes returns how many bytes, at most, those operations make that keep the value
// before them. current returns the size of a key's value. The operations on one key
// follow one another.
func (r *request) resultBytes(current func(key []byte) int) (total int64) {
	sizes := make(map[string]int, len(r.Mutations))
	for _, in := range r.inputs.values {
		sizes[string(in.key)] = max(len(in.value), current(in.key))
	}
	for i := range r.Mutations {
		m := &r.Mutations[i]
		if m.Op == mutation.OpClearRange || m.Op == kv.SetVersionstampedKey {
			continue
		}
		old, known := sizes[string(m.Key)]
		if !known {
			old = current(m.Key)
		}
		size := mutation.MostBytes(m.Op, old, len(m.Value))
		if sizes[string(m.Key)] = size; mutation.KeepsValue(m.Op) {
			total += int64(size)
		}
	}
	return total
}

func tooLargeResults(size int64) error {
	return kv.NewError(kv.CodeTransactionTooLarge, "the values of the transaction's atomic operations have %d bytes; at most %d are possible: split it", size, int64(mostResults))
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
		r.inputs.bytes.Add(int64(len(value)))
		r.inputs.values = append(r.inputs.values, atomicInput{key: m.Key, value: value, ticket: t, cold: !there})
	}
	return cold, r.checkInputs()
}
