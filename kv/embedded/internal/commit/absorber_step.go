// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// absorbGroups writes to the base the writes of groups that no later commit has
// overwritten.
func (a *Absorber) absorbGroups(groups mvcc.JournalCut) error {
	a.Base.AwaitCompactions(a.quit)
	v, err := a.durableView()
	if err != nil {
		return err
	}
	cutoff := groups.Cutoff()
	a.Base.RefuseReadersBelow(cutoff)
	for rest := groups.Spans(); len(rest) > 0; {
		done, left, err := a.absorbStep(v, rest, cutoff)
		if err != nil {
			return err
		}
		for _, part := range done {
			a.committer.forgetAbsorbed(part, cutoff)
		}
		if a.stopped() {
			return nil
		}
		rest = left
	}
	b, err := a.Base.NewBatch()
	if err == nil {
		err = b.Finish(cutoff)
	}
	if err == nil {
		err = b.Apply()
	}
	if err == nil {
		a.Base.SetAbsorbed(cutoff)
	}
	return err
}

// durableView returns the newest view after it has synced all commits in it. It
// loads the view before it syncs: a commit in the view may have replaced older
// values. If a crash took that commit from the log, the base would lack both.
func (a *Absorber) durableView() (*mvcc.View, error) {
	v := a.committer.head.Published()
	if a.SyncLog != nil {
		return v, a.SyncLog(a.Log.Sync)
	}
	return v, a.Log.Sync()
}

// absorbStep absorbs some entries of the first spans. It returns the absorbed
// spans, in parts so short that commits can wait for one, and the rest. It
// absorbs more than one part only while a run of cleared keys goes on, so that the
// run becomes one range tombstone.
func (a *Absorber) absorbStep(v *mvcc.View, all []mvcc.Span, cutoff int64) (done [][]mvcc.Span, left []mvcc.Span, err error) {
	b, err := a.Base.NewBatch()
	if err != nil {
		return nil, nil, err
	}
	for more := true; more; more = len(all) > 0 && b.InRun() && len(done) < absorbStepParts && b.Size() < absorbStepBytes {
		var part []mvcc.Span
		if part, all, err = a.absorbPart(b, v, all, cutoff); err != nil {
			b.Discard()
			return nil, nil, err
		}
		done = append(done, part)
	}
	return done, all, b.Apply()
}

// absorbPart absorbs up to absorbStepEntries entries.
func (a *Absorber) absorbPart(b *base.Batch, v *mvcc.View, all []mvcc.Span, cutoff int64) (done, left []mvcc.Span, err error) {
	for budget := absorbStepEntries; len(all) > 0 && budget > 0 && b.Size() < absorbStepBytes; budget-- {
		seen, last, err := v.CopyToBase(b, all[0], cutoff, budget, absorbStepBytes)
		if err != nil {
			return nil, nil, err
		}
		budget -= seen
		if last != nil {
			done = append(done, mvcc.Span{First: all[0].First, Last: last})
			all[0].First = keys.Successor(last)
			break
		}
		done, all = append(done, all[0]), all[1:]
	}
	return done, all, nil
}
