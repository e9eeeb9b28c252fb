// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// versions returns the cache of the database's versions; nil: the transaction was wrapped.
func (t *transaction) versions() *versionCache {
	if t.db == nil {
		return nil
	}
	return &t.db.versions
}

// fix has the attempt read at a version of the cache, or else asks for the version that the client
// reads at, to note it. The first read calls it.
func (t *transaction) fix(a *attempt) error {
	v := &a.version
	if v.cache == nil {
		return nil
	}
	v.once.Do(func() { v.err = t.chooseVersion(a) })
	return v.err
}

// mayBeWeak reports whether the options say something of the read version.
func (t *transaction) mayBeWeak() bool { return t.asked.MaxStaleness > 0 || t.asked.AtLeast > 0 }

func (t *transaction) chooseVersion(a *attempt) error {
	if version, ok := t.weakVersion(a.retried); ok {
		a.setReadVersion(version)
		a.version.weak = version
		a.version.request.Store(noted)
		return nil
	}
	a.askVersion()
	if t.asked.AtLeast == 0 {
		return nil
	}
	version, err := await(a, a.readVersion(), "GetReadVersion", takeNumber).Get(context.Background())
	if err != nil {
		return err
	}
	return t.asked.CheckVersion(version)
}

// weakVersion returns the version of the cache if the transaction may read at it. A retry may not: the
// attempt before has found the version too old, unknown or in conflict.
func (t *transaction) weakVersion(retried bool) (version int64, ok bool) {
	if retried || t.db == nil {
		return 0, false
	}
	return t.db.versions.fresh(t.asked.MaxStaleness, t.asked.AtLeast)
}

// rejectVersion forgets the version of the cache that an attempt has read at, if that is why it failed.
func (t *transaction) rejectVersion(code kv.Code) {
	if code != kv.CodeTransactionTooOld && code != kv.CodeFutureVersion {
		return
	}
	if a := t.shared.Load(); a != nil && a.group.weak != 0 {
		a.group.version.reject()
		t.db.groups.replaceWeak(nil)
	}
	if a := t.current.Load(); a != nil {
		a.version.reject()
	}
}

// takeWatch takes the result of a watch. What reads after a change must see it.
func (t *transaction) takeWatch(f *cFuture) (struct{}, cCode) {
	none, code := takeNothing(f)
	if code == 0 && t.db != nil {
		t.db.versions.expire()
	}
	return none, code
}
