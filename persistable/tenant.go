// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// tenant is a directory on a store's path that has a lock or a quota.
type tenant struct {
	tenancy.Settings
	path []string
	keys tenancy.Keys
}

// settingsReads are the reads of the settings of all directories on a path.
type settingsReads struct {
	path   []string
	keys   []tenancy.Keys
	values []kv.Future[[]byte]
}

// startSettings starts to read the settings of d and of the directories above it.
func startSettings(reader kv.ReadTransaction, d *directory.Directory) settingsReads {
	r := settingsReads{path: d.Path()}
	for _, annotation := range d.Annotations(tenancy.Owner) {
		keys := tenancy.KeysOf(annotation)
		r.keys = append(r.keys, keys)
		r.values = append(r.values, reader.Get(keys.Settings))
	}
	return r
}

// await returns the directories that have settings.
func (r settingsReads) await(ctx context.Context, typ string) (all []tenant, err error) {
	for i, f := range r.values {
		value, err := f.Get(ctx)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		t := tenant{path: r.path[:i+1], keys: r.keys[i]}
		if t.Settings, err = tenancy.Decode(value); err != nil {
			return nil, fmt.Errorf("persistable: %s: directory %s: %w", typ, quotePath(t.path), err)
		}
		all = append(all, t)
	}
	return all, nil
}

// LockedError says that a record was not written, because the directory of the store
// or one above it is locked: a tenant that is being copied or exported. Nothing was
// written. Try again when the tenant is unlocked (tenants.Set.Unlock).
type LockedError struct {
	Type   string   // empty if no type is concerned
	Path   []string // of the directory that is locked
	Reason string   // as its locker gave it
}

// Error implements error.
func (e *LockedError) Error() string {
	what := ""
	if e.Type != "" {
		what = e.Type + ": "
	}
	return fmt.Sprintf("persistable: %sthe directory %s is locked against writes (%s): try again when it is unlocked", what, quotePath(e.Path), e.Reason)
}

func checkLocks(p *place, tenants []tenant) error {
	for _, t := range tenants {
		if t.Lock.ID != "" {
			return &LockedError{Type: p.typ, Path: t.path, Reason: t.Lock.Reason}
		}
	}
	return nil
}
