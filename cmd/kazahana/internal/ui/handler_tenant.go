// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// tenant shows a tenant with its stores: what its removal removes. The prefix is read first: if
// another process puts another directory at the path while the others are read, the removal is refused.
func (h *Handler) tenant(r *http.Request) (any, error) {
	path := pathOf(r)
	if len(path) < 2 {
		return nil, invalid("say which tenant: the path of its directory, p=…&p=…")
	}
	d, err := h.db.Layer().Open(r.Context(), h.db.Engine(), path)
	if err != nil {
		return nil, err
	}
	t, err := h.readTenant(r, tenants.Of(h.db, path[:len(path)-1]...), path[len(path)-1])
	if err != nil {
		return nil, err
	}
	found, more, err := h.findStores(r.Context(), path, h.options.MaxStores)
	if errors.Is(err, persistable.ErrNotFound) {
		err = nil
	}
	return map[string]any{"tenant": t, "prefix": prefixText(d), "stores": found, "more": more}, err
}

// prefixText returns the prefix of a directory as the page has it.
func prefixText(d *directory.Directory) string { return hex.EncodeToString(d.Reserve().Begin) }

// tenantRequest names a tenant in a request that changes it.
type tenantRequest struct {
	Path   []string `json:"path"` // of its directory
	Reason string   `json:"reason,omitempty"`
	Lock   string   `json:"lock,omitempty"`   // the id of the lock that the page showed
	Prefix string   `json:"prefix,omitempty"` // of the directory that the page showed, hexadecimal
}

func (h *Handler) readTenantRequest(r *http.Request) (q tenantRequest, set *tenants.Set, name string, err error) {
	if err = readBody(r, &q); err != nil {
		return q, nil, "", err
	}
	if len(q.Path) < 2 {
		return q, nil, "", invalid("path: it does not name a tenant")
	}
	last := len(q.Path) - 1
	return q, tenants.Of(h.db, q.Path[:last]...), q.Path[last], nil
}

func (h *Handler) lockTenant(r *http.Request) (any, error) {
	q, set, name, err := h.readTenantRequest(r)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(q.Reason) == "" {
		return nil, invalid("reason: say what the lock is for; programs that are refused see it")
	}
	return set.Lock(r.Context(), name, q.Reason)
}

func (h *Handler) unlockTenant(r *http.Request) (any, error) {
	q, set, name, err := h.readTenantRequest(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{}, set.Unlock(r.Context(), tenants.Lock{Tenant: name, ID: q.Lock})
}

// removeTenant starts the removal of the tenant that the page showed: it goes on when the page
// has gone.
func (h *Handler) removeTenant(r *http.Request) (any, error) {
	q, set, name, err := h.readTenantRequest(r)
	if err != nil {
		return nil, err
	}
	if q.Prefix == "" {
		return nil, invalid("prefix: say which directory is to be removed; api/tenant shows its prefix")
	}
	if err := h.checkRemoval(r.Context(), q, set, name); err != nil {
		return nil, err
	}
	return h.startNamed("remove", "tenant "+strings.Join(q.Path, "/"), func(ctx context.Context, _ func(any)) (any, error) {
		return nil, set.DeleteIf(ctx, name, q.checkShown)
	})
}

// checkRemoval returns why a tenant is not removed; nil if a removal may begin, also of what an
// interrupted one has left. The removal checks the same in its transaction.
func (h *Handler) checkRemoval(ctx context.Context, q tenantRequest, set *tenants.Set, name string) error {
	if lock, locked, err := set.LockOf(ctx, name); locked {
		return &persistable.LockedError{Path: q.Path, Reason: lock.Reason}
	} else if err != nil {
		return ignoreMissing(err)
	}
	return ignoreMissing(h.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := h.db.Layer().Open(ctx, tx, q.Path)
		if err != nil {
			return err
		}
		return q.checkShown(tx, d)
	}))
}

func ignoreMissing(err error) error {
	if errors.Is(err, tenants.ErrNotFound) || errors.Is(err, directory.ErrNotFound) {
		return nil
	}
	return err
}

// checkShown returns an error unless d is the directory that the page showed. Only a directory's
// prefix is its own.
func (q tenantRequest) checkShown(_ kv.ReadTransaction, d *directory.Directory) error {
	if prefixText(d) == q.Prefix {
		return nil
	}
	return &statusError{http.StatusConflict, fmt.Errorf("another process has put another directory at %s since it was shown: nothing was removed; look again", strings.Join(q.Path, "/"))}
}
