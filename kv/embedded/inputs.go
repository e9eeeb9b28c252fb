// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// atomicInputs are the values that the atomic operations of a commit are applied
// to where the window does not know the keys. They are read before the commit is
// queued, at one version: the committer's first stage never waits for the disk.
type atomicInputs struct {
	version int64
	values  []atomicInput
	missing atomic.Int64 // inputs that are being fetched
	err     atomic.Pointer[error]
}

// atomicInput is the value of one key.
type atomicInput struct {
	key    []byte
	value  []byte      // nil: absent
	ticket base.Ticket // of an input that must be fetched
	cold   bool        // it must be fetched
}

// prepare submits a request once the inputs of its atomic operations are there:
// at once if they are at hand. It does not wait.
func (c *committer) prepare(r *commitRequest) {
	if c.base == nil {
		c.submit(r)
		return
	}
	v := c.head.newest()
	cold, err := r.gatherInputs(v)
	switch {
	case err != nil:
		r.Finisher.Finish(txn.Outcome{Err: err})
	case cold == 0:
		c.submit(r)
	default:
		c.fetchInputs(r, v, cold)
	}
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

// fetchInputs lets goroutines read the inputs that are not at hand. The last of
// them submits the request. Requests that wait for that are bounded as those in
// the queue are.
func (c *committer) fetchInputs(r *commitRequest, v *view, cold int) {
	if waiting := c.fetching.Add(r.Bytes); c.queue.limit > 0 && waiting > max(c.queue.limit, r.Bytes) {
		c.fetching.Add(-r.Bytes)
		r.Finisher.Finish(txn.Outcome{Err: c.tooMany(waiting - r.Bytes)})
		return
	}
	r.inputs.missing.Store(int64(cold))
	for i := range r.inputs.values {
		if r.inputs.values[i].cold {
			c.readers.Start(&inputFetch{c, r, v, &r.inputs.values[i]})
		}
	}
}

// inputFetch reads one input.
type inputFetch struct {
	committer *committer
	request   *commitRequest
	view      *view
	input     *atomicInput
}

func (f *inputFetch) Run() {
	r := f.request
	value, err := f.view.fetch(f.input.ticket, f.input.key)
	if f.input.value = value; err != nil {
		r.inputs.err.Store(&err)
	}
	if r.inputs.missing.Add(-1) > 0 {
		return
	}
	f.committer.fetching.Add(-r.Bytes)
	if err := r.inputs.err.Load(); err != nil {
		r.Finisher.Finish(txn.Outcome{Err: *err})
		return
	}
	f.committer.submit(r)
	f.committer.help()
}
