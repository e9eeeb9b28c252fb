// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
)

// Store is the store that has its indexes built. It is safe for concurrent use.
type Store interface {
	// Transact runs fn in a transaction and commits it, and runs fn again after a
	// retryable error. The transaction conflicts with every change of the store's
	// header. fn is not called if there is no store.
	Transact(ctx context.Context, fn func(Transaction) error) error
	// Read runs fn in a transaction that only reads. fn is not called if there is no
	// store.
	Read(ctx context.Context, fn func(kv.ReadTransaction, Place) error) error
}

// Transaction is one attempt of a transaction on an open store.
type Transaction interface {
	// KV returns the engine's transaction.
	KV() kv.Transaction
	// Place returns the place that the transaction has opened.
	Place() Place
	// SetStates changes the header: the indexes for which which returns true get the
	// state.
	SetStates(ctx context.Context, to index.State, which func(*index.Index) bool) error
	// CutRecord returns what follows Place.Records in the key of the record to which a
	// key belongs, which may be one of its chunks. It reports whether there is one.
	CutRecord(key []byte) (suffix []byte, ok bool)
	// Fill writes the entries of the records of a batch.
	Fill(ctx context.Context, b Batch) (Portion, error)
}

// Batch says which records a transaction is to index. Keys are without
// Place.Records.
type Batch struct {
	From, To []byte
	Records  int    // the most records
	Bytes    int    // about the most bytes that are read and written; one record is always taken
	Indexes  []bool // which of Place.Indexes
}

// Portion is the part of a batch that a transaction has indexed.
type Portion = worklist.Portion

// Place is where the keys of an open store are, and its indexes.
type Place struct {
	List    List
	Records []byte        // what the keys of records begin with
	Indexes []index.Index // those that this program maintains
	Foreign []Member      // indexes that this program cannot maintain
}

// isBuilding reports whether a member is in the state building.
func (p Place) isBuilding(m Member) bool {
	return slices.Contains(p.Foreign, m) || slices.ContainsFunc(p.Indexes, func(ix index.Index) bool {
		return ix.State == index.Building && MemberOf(ix.Definition) == m
	})
}

// checkMembers returns an error if this program cannot build one of the members: it
// would note records as done that are not.
func (p Place) checkMembers(members []Member) error {
	for _, m := range members {
		if slices.Contains(p.Foreign, m) {
			return fmt.Errorf("build: an index is being built that this program does not have, %s (%s): let a program that has it complete the build, or remove the index by Indexes().RemoveUnused", m.KeyName, m.Layout)
		}
	}
	return nil
}

// Options say how a build works. The caller has checked them and filled in all
// defaults.
type Options struct {
	worklist.Options
	Progress func(Progress) // called after each batch, one call at a time; may be nil

	// Begins says for which of the disabled indexes a build may begin; nil: for all. A
	// build that has begun is completed whatever it says.
	Begins func(*index.Definition) bool
}

// Progress is how far a build has come.
type Progress struct {
	Members []Member // the indexes that are built; none if there is no build
	worklist.Progress
}

// ReadProgress returns how far the build of a store has come, of all processes
// together.
func ReadProgress(ctx context.Context, store Store) (p Progress, err error) {
	err = store.Read(ctx, func(tx kv.ReadTransaction, at Place) error {
		members, err := at.List.readMembers(ctx, tx)
		if err != nil || members == nil {
			p = Progress{}
			return err
		}
		ranges, err := at.List.ranges().ReadAll(ctx, tx)
		p = Progress{members, worklist.NewProgress(ranges)}
		return explain(err)
	})
	return p, err
}

// Stage is a point in a build at which a process may die. The constants are in the
// order in which a build comes to them; those from Picked to Moved repeat.
type Stage = worklist.Stage

// The stages of a build.
const (
	// Listed: the indexes are in the state building and the work list is written,
	// within the transaction, before its commit.
	Listed Stage = "listed"
	// Started: that transaction is committed.
	Started Stage = "started"
	// Picked: a worker has chosen a range, and not yet claimed it.
	Picked = worklist.Picked
	// Filled: a batch is written, within the transaction that also moves the
	// range's progress, before its commit.
	Filled = worklist.Filled
	// Moved: that transaction is committed.
	Moved = worklist.Moved
	// Emptied: no range of the list has anything left.
	Emptied Stage = "emptied"
	// Finished: the list is removed, and the indexes that cannot have violations are
	// readable.
	Finished Stage = "finished"
	// Settled: the violations of unique indexes were checked, and their indexes are
	// not yet readable.
	Settled Stage = "settled"
)

// The stages of a verification that counts anew, in addition to those of the build that
// it runs, from Listed to Finished.
const (
	// Recounting: the indexes that count anew are in the header, and not yet built.
	Recounting Stage = "recounting"
	// Mended: entries are corrected, within the transaction, before its commit.
	Mended Stage = "mended"
	// Compared: all entries are compared, and the indexes that count anew are still there.
	Compared Stage = "compared"
)

// RecountStages are the stages of a verification that counts anew.
var RecountStages = []Stage{Recounting, Listed, Started, Picked, Filled, Moved, Emptied, Finished, Mended, Compared}

// Stages are all stages of a build.
var Stages = []Stage{Listed, Started, Picked, Filled, Moved, Emptied, Finished, Settled}
