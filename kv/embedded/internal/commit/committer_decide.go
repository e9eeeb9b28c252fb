// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
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

// Commit reads what the request's atomic operations need and queues the request. It
// does not wait. The committer commits it after a call of Drive, and tells the outcome
// to the request's Finisher, from any goroutine, possibly before Commit returns.
func (c *Committer) Commit(r *txn.Request) {
	cr, _ := c.requests.Get().(*request)
	if cr == nil {
		cr = &request{}
	}
	cr.Request = r
	c.submitWithInputs(cr)
}

// submitWithInputs submits a request once memory has the inputs of its atomic
// operations: at once if it has them already. It does not wait.
func (c *Committer) submitWithInputs(r *request) {
	if c.window.InMemory() {
		c.submit(r)
		return
	}
	v := c.head.Acquire()
	cold, err := r.gatherInputs(v)
	if err == nil && cold > 0 {
		c.fetchInputs(r, v, cold)
		return
	}
	v.Release()
	if err != nil {
		c.refuse(r, err)
		return
	}
	c.submitWeighed(r)
}

// submitWeighed estimates the size of the results of a request from its inputs, which are
// known, and submits it. A request with few results is not estimated.
func (c *Committer) submitWeighed(r *request) {
	if r.keeping() > fewResults {
		r.results = r.resultBytes(func([]byte) int { return 0 })
	}
	c.submit(r)
}

// fewResults is how many results of atomic operations need not be counted.
const fewResults = 8

// fetchInputs lets goroutines read the inputs that are not at hand. The last of
// them releases the view and submits the request. Requests that wait for that are bounded as those in
// the queue are.
func (c *Committer) fetchInputs(r *request, v *mvcc.View, cold int) {
	kept := r.kept()
	if waiting := c.fetching.Add(kept); c.queue.limit > 0 && waiting > max(c.queue.limit, kept) {
		c.fetching.Add(-kept)
		v.Release()
		c.refuse(r, c.tooMany(waiting-kept))
		return
	}
	r.inputs.missing.Store(int64(cold))
	values := r.inputs.values // r belongs to the last read once that has started
	for i := 0; cold > 0; i++ {
		if values[i].cold {
			cold--
			c.readers.Start(&inputFetch{c, r, v, &values[i]})
		}
	}
}

// preloadAtomics tells the window what the base says of the keys that r's atomic
// operations need and the window does not know. The operations overwrite it.
//
// A value of r's inputs was current at the version of the inputs. The window has
// every later write that it has not forgotten. So where it does not know the key,
// and has forgotten nothing later than that version, the value is still current.
func (c *Committer) preloadAtomics(r *request) error {
	for i := range r.inputs.values {
		in := &r.inputs.values[i]
		if err := c.window.Preload(in.key, in.value, r.inputs.version); err != nil {
			return err
		}
	}
	return nil
}

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
	value  []byte       // nil: absent
	ticket reads.Ticket // of an input that must be fetched
	cold   bool         // it must be fetched
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
	f.view.Release()
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

// newBatch returns a new batch with a version.
func (c *Committer) newBatch() *batch {
	b, _ := c.batches.Get().(*batch)
	if b == nil {
		b = &batch{}
	}
	b.version = c.head.Assign()
	if c.log != nil {
		b.frame = append(b.frame[:0], make([]byte, commitlog.FrameHeadSize)...)
	}
	return b
}

// decideRequest takes a request into the batch: it says whether it conflicts, and
// applies its writes if not.
func (c *Committer) decideRequest(b *batch, r *request) {
	b.requests = append(b.requests, r)
	if r.err = c.checkConflicts(r, b.version); r.err != nil {
		return
	}
	if r.err = c.checkResults(r); r.err != nil {
		return
	}
	if r.err = c.preloadAtomics(r); r.err != nil {
		return
	}
	r.index = uint16(b.accepted)
	b.accepted++
	c.resolver.AddWrites(r.Writes, b.version)
	c.applyMutations(b, r)
}

// checkConflicts returns why r cannot be committed, or nil.
func (c *Committer) checkConflicts(r *request, version int64) error {
	switch {
	case !r.Undated && r.ReadVersion < c.window.OldestReader(version):
		return mvcc.TooOld(r.ReadVersion)
	case c.resolver.Conflicts(r.Reads, r.ReadVersion):
		return c.conflictError(r)
	}
	return nil
}

// checkResults returns an error if what r's atomic operations make is too large. The log
// and the window get the results, and not the operations: where a short operand is
// applied to a long value, they get far more than counts against a transaction's size.
func (c *Committer) checkResults(r *request) error {
	if r.keeping()*kv.MaxValueSize <= mostResults {
		return nil
	}
	if size := r.resultBytes(func(key []byte) int { return len(c.window.CurrentValue(key)) }); size > mostResults {
		return tooLargeResults(size)
	}
	return nil
}

// conflictError returns the error of a request that conflicts, and notes which
// reads are the cause if the request asks for that.
func (c *Committer) conflictError(r *request) error {
	if !r.Reports {
		return errConflict
	}
	r.conflicts = keys.Merge(c.resolver.ConflictingReads(r.Reads, r.ReadVersion))
	return kv.NewConflictError(r.conflicts)
}

var errConflict = kv.NewConflictError(nil)

// applyMutations writes the mutations of r to the window and to the frame.
func (c *Committer) applyMutations(b *batch, r *request) {
	for i := range r.Mutations {
		m := c.resolveMutation(&r.Mutations[i], b.version, r.index)
		if r.Quiet {
			c.resolver.Preserve(&m)
		}
		if r.Mutations[i].Op == kv.SetVersionstampedKey || r.Pointwise && c.window.InMemory() && m.Value == nil {
			c.resolver.AddKey(m.Key, b.version) // which the window would not tell of
		}
		c.window.Apply(&m, b.version, r.Pointwise)
		if c.log != nil {
			b.frame = commitlog.AppendMutation(b.frame, &m)
		}
		b.changes = append(b.changes, m)
	}
}

// resolveMutation turns a clear of one key, or an atomic operation, into the set or
// clear that it comes to.
func (c *Committer) resolveMutation(m *mutation.Mutation, version int64, index uint16) mutation.Mutation {
	switch m.Op {
	case mutation.OpSet:
		return *m
	case mutation.OpClearRange:
		if keys.IsSuccessor(m.Value, m.Key) {
			return mutation.Mutation{Op: mutation.OpSet, Key: m.Key}
		}
		return *m
	case kv.SetVersionstampedKey:
		return mutation.Mutation{Op: mutation.OpSet, Key: mutation.FillStamp(m.Key, mutation.Versionstamp(version, index)), Value: m.Value}
	case kv.SetVersionstampedValue:
		return mutation.Mutation{Op: mutation.OpSet, Key: m.Key, Value: mutation.FillStamp(m.Value, mutation.Versionstamp(version, index))}
	}
	return mutation.Mutation{Op: mutation.OpSet, Key: m.Key, Value: mutation.Apply(m.Op, c.window.CurrentValue(m.Key), m.Value)}
}
