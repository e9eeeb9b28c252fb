// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"encoding/binary"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// fix has the attempt read at a version of the cache, or else asks for the version that the client
// reads at, to note it. The first read calls it.
func (t *transaction) fix(a *attempt) { a.version.once.Do(func() { t.chooseVersion(a) }) }

func (t *transaction) chooseVersion(a *attempt) {
	v := &a.version
	if version, ok := t.weakVersion(a.retried); ok {
		a.setReadVersion(version)
		v.weak = version
		v.request.Store(noted)
		return
	}
	v.least = t.asked.AtLeast
	a.askVersion()
}

// mayBeWeak reports whether the options say something of the read version.
func (t *transaction) mayBeWeak() bool { return t.asked.MaxStaleness > 0 || t.asked.AtLeast > 0 }

// weakVersion returns the version of the cache if the transaction may read at it. A retry may not: the
// attempt before has found the version too old, unknown or in conflict.
func (t *transaction) weakVersion(retried bool) (version int64, ok bool) {
	if retried || t.db == nil {
		return 0, false
	}
	return t.versions.fresh(t.asked.MaxStaleness, t.asked.AtLeast)
}

// rejectVersion forgets the version of the cache that an attempt has read at, if that is why it failed.
func (t *transaction) rejectVersion(code kv.Code) {
	if code != kv.CodeTransactionTooOld && code != kv.CodeFutureVersion {
		return
	}
	if a := t.shared.Load(); a != nil && a.group.weak != 0 {
		a.group.version.reject()
		t.db.groups.forgetWeak()
	}
	if a := t.current.Load(); a != nil {
		a.version.reject()
	}
}

// noteCommit notes the version of a commit that has succeeded.
func (t *transaction) noteCommit(a *attempt, sent time.Time) {
	if t.current.Load() == a {
		if version, code := a.committedVersion(); code == 0 {
			t.version.Store(version + 1)
			t.versions.note(version, sent)
			return
		}
	}
	t.versions.expire()
}

// takeVersionstamp takes the versionstamp of a commit that has succeeded. It begins with the version.
func (t *transaction) takeVersionstamp(f *cFuture) ([]byte, cCode) {
	stamp, code := takeKey(f)
	if code == 0 && len(stamp) == kv.VersionstampSize {
		t.versions.note(int64(binary.BigEndian.Uint64(stamp)), time.Time{})
	}
	return stamp, code
}
