// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ticket"
)

// atomicInputs are the values that the atomic operations of a commit are applied
// to where the window does not know the keys. They are read before the commit is
// queued, at one version: the committer's first stage never waits for the disk.
type atomicInputs struct {
	version int64
	values  []atomicInput
	bytes   atomic.Int64 // of the values
	missing atomic.Int64 // inputs that are being fetched
	err     atomic.Pointer[error]
}

// mostKeptInputs is how many inputs a request that is reused has room for.
const mostKeptInputs = 64

// reset forgets the inputs.
func (i *atomicInputs) reset() {
	clear(i.values)
	if i.values = i.values[:0]; cap(i.values) > mostKeptInputs {
		i.values = nil
	}
	i.version = 0
	i.bytes.Store(0)
	i.missing.Store(0)
	i.err.Store(nil)
}

// atomicInput is the value of one key.
type atomicInput struct {
	key    []byte
	value  []byte        // nil: absent
	ticket ticket.Ticket // of an input that must be fetched
	cold   bool          // it must be fetched
}

// inputFetch reads one input.
type inputFetch struct {
	committer *Committer
	request   *request
	view      *mvcc.View
	input     *atomicInput
}

// Run implements [readers.Task].
func (f *inputFetch) Run() {
	r := f.request
	if r.inputs.err.Load() == nil {
		if err := f.fetch(); err != nil {
			r.inputs.err.Store(&err)
		}
	}
	if r.inputs.missing.Add(-1) > 0 {
		return
	}
	f.committer.fetching.Add(-r.kept())
	if err := r.inputs.err.Load(); err != nil {
		f.committer.refuse(r, *err)
		return
	}
	f.committer.submitWeighed(r)
	f.committer.Drive()
}

// fetch reads the input, and counts it.
func (f *inputFetch) fetch() error {
	value, err := f.view.Fetch(f.input.ticket, f.input.key)
	if err != nil {
		return err
	}
	size := int64(len(value))
	kept, fetching := f.request.inputs.bytes.Add(size)+f.request.Bytes, f.committer.fetching.Add(size)
	f.input.value = value
	if limit := f.committer.queue.limit; limit > 0 && fetching > max(limit, kept) {
		return f.committer.tooMany(fetching - kept)
	}
	return f.request.checkInputs()
}
