// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

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
