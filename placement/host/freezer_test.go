// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// freezer is a database that a process does not reach while it is frozen.
type freezer struct {
	kv.Database

	mu     sync.Mutex
	thawed chan struct{} // nil: it is not frozen
}

func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.thawed = make(chan struct{})
}

func (f *freezer) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.thawed)
	f.thawed = nil
}

func (f *freezer) wait(ctx context.Context) error {
	f.mu.Lock()
	thawed := f.thawed
	f.mu.Unlock()
	if thawed == nil {
		return nil
	}
	select {
	case <-thawed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *freezer) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	return f.Database.Transact(ctx, func(tx kv.Transaction) error {
		if err := fn(tx); err != nil {
			return err
		}
		return f.wait(ctx)
	})
}

func (f *freezer) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	return f.Database.ReadTransact(ctx, fn)
}
