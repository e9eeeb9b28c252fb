// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"cmp"

	"github.com/kazahana-db/kazahana/kv"
)

// currentView returns the view that the transaction reads, fixing it if this is
// the first read, unless it has become too old. t.mu is held.
func (t *Transaction) currentView() (View, error) {
	switch {
	case t.viewErr != nil:
		return nil, t.viewErr
	case t.view == nil:
		t.chooseNewest()
		return t.view, nil
	}
	if err := t.engine.CheckAge(t.version); err != nil {
		t.view, t.viewErr = nil, err // what the view held can go
		return nil, err
	}
	return t.view, nil
}

// chooseNewest fixes the read version to that of the newest view.
func (t *Transaction) chooseNewest() {
	t.view = t.engine.Newest()
	t.version = t.view.Version()
}

// SetReadVersion implements [kv.Transaction].
func (t *Transaction) SetReadVersion(version int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.fault != nil:
	case t.version != 0:
		_ = t.keepFault(kv.NewError(kv.CodeReadVersionAlreadySet, "the read version is %d already", t.version))
	case version <= 0:
		_ = t.keepFault(kv.NewError(kv.CodeVersionInvalid, "%d is no version", version))
	default:
		t.chooseView(version)
	}
}

// chooseView fixes the read version to one that may not be readable: reads say so.
func (t *Transaction) chooseView(version int64) {
	t.version = version
	t.view, t.viewErr = t.engine.At(version)
}

// GetReadVersion implements [kv.ReadTransaction].
func (t *Transaction) GetReadVersion() kv.Future[int64] {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := cmp.Or(t.fault, t.deadErr)
	if !t.started {
		err = t.checkUsable()
	}
	if err != nil {
		return kv.Resolved(int64(0), err)
	}
	return kv.Resolved(t.fixReadVersion(), nil)
}

// fixReadVersion is the version that the transaction's conflict ranges speak of.
func (t *Transaction) fixReadVersion() int64 {
	if t.version == 0 {
		t.chooseNewest()
	}
	return t.version
}
