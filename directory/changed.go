// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Invalidate makes every [Cache], in all processes, read its entries again once tx
// commits: it writes \xff/metadataVersion. Move and Remove call it. A program that
// has other reasons to write that key must call Invalidate, too: from then on the
// key cannot be read in tx, and a read would make the commit fail (1036). Caches
// know the transactions that called Invalidate, and do not read the key there.
func Invalidate(ctx context.Context, tx kv.Transaction) error {
	version, err := tx.GetReadVersion().Get(ctx)
	if err != nil {
		return err
	}
	changed.markVersion(version)
	operand := make([]byte, kv.VersionstampSize+4) // the placeholder, and its offset 0
	tx.Atomic(kv.SetVersionstampedValue, []byte(kv.MetadataVersionKey), operand)
	return nil
}

// MetadataVersion returns the value of \xff/metadataVersion at tx's read
// version, "" if it was never written; ok is false if [Invalidate] may have been
// called in tx, so that the value cannot be read and caches must not be used
// there. It costs no round, and adds no read conflict.
func MetadataVersion(ctx context.Context, tx kv.ReadTransaction) (value string, ok bool, err error) {
	m, err := observe(ctx, tx)
	if m == nil || err != nil {
		return "", false, err
	}
	return m.metadata, true, nil
}

// changed knows the read versions of the transactions of this process that
// have written the metadata version key.
var changed = versionSet{last: map[int64]time.Time{}}

// versionSet is a set of read versions. A version is dropped when transactions that
// read it can no longer commit, and many others were marked since. The read version alone identifies a transaction,
// since wrappers and snapshots are other values: other transactions with the same
// version count as marked, too, which costs them reads.
type versionSet struct {
	mu    sync.RWMutex
	last  map[int64]time.Time // when each was marked last
	order []markedVersion
}

type markedVersion struct {
	version int64
	at      time.Time
}

const (
	// markLifetime is how long a mark is kept at least: twice the age at which a
	// transaction is too old to commit.
	markLifetime = 2 * kv.MaxTransactionAge
	// keptMarks is how many marks are kept however old they are. A transaction that took
	// longer learns from its commit that it is too old (1007), and is retried. If it were
	// not known any more, it would read the key instead, and end with 1036.
	keptMarks = 4096
)

func (s *versionSet) markVersion(version int64) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.order) >= keptMarks && now.Sub(s.order[0].at) > markLifetime {
		if first := s.order[0]; s.last[first.version].Equal(first.at) {
			delete(s.last, first.version)
		}
		s.order = s.order[1:]
	}
	s.last[version] = now
	s.order = append(s.order, markedVersion{version, now})
}

// startRead starts to read the metadata version key in tx, which reads version,
// unless that is marked. The lock keeps another goroutine from marking the
// version, and so from writing the key, before the read has started.
func (s *versionSet) startRead(tx kv.ReadTransaction, version int64) (kv.Future[[]byte], bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, marked := s.last[version]; marked {
		return kv.Future[[]byte]{}, false
	}
	return tx.Snapshot().Get([]byte(kv.MetadataVersionKey)), true
}
