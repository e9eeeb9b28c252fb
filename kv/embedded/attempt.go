// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// attempt is what outlives a transaction's reset: the futures that its commit
// resolves. A transaction has a new one after each reset.
type attempt struct {
	commit  *kv.Promise[struct{}] // nil until the commit begins
	stamp   *kv.Promise[[]byte]   // nil unless the versionstamp was asked for
	watches []*watch
	version atomic.Int64 // of the commit; -1 if there is none
}

func newAttempt() *attempt {
	a := &attempt{}
	a.version.Store(-1)
	return a
}

// finish resolves the futures with what became of the commit.
func (a *attempt) finish(o outcome) {
	if o.err != nil {
		a.fail(o.err, kv.NewError(kv.CodeTransactionInvalidVer, "the transaction did not commit"))
		return
	}
	a.version.Store(o.version)
	if a.stamp != nil {
		a.stamp.Resolve(versionstamp(o.version, o.index), nil)
	}
	a.commit.Resolve(struct{}{}, nil)
}

// finishReadOnly resolves the futures of a commit that wrote nothing.
func (a *attempt) finishReadOnly() {
	if a.stamp != nil {
		a.stamp.Resolve(nil, kv.NewError(kv.CodeNoCommitVersion, "the transaction wrote nothing"))
	}
	a.commit.Resolve(struct{}{}, nil)
}

// fail gives up: the futures that are not resolved get these errors. A commit
// that is under way may still happen.
func (a *attempt) fail(err, stampErr error) {
	for _, w := range a.watches {
		if !w.isArmed() {
			w.finish(err)
		}
	}
	if a.stamp != nil {
		a.stamp.Resolve(nil, stampErr)
	}
	if a.commit != nil {
		a.commit.Resolve(struct{}{}, err)
	}
}
