// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// tenantPages show tenants with their locks, quotas and sizes, and lock, unlock and remove one.
type tenantPages struct {
	stores *storePages
	sizes  *sizePages
	jobs   *jobPages
}

// tenantState is a tenant in a listing.
type tenantState struct {
	Name  string        `json:"name"`
	Bytes *int64        `json:"bytes"` // by the engine's estimate, or counted if it is small; nil if that took too long
	Lock  *tenants.Lock `json:"lock,omitempty"`
	Usage tenants.Usage `json:"usage"`
	Error string        `json:"error,omitempty"` // why lock and quota cannot be read
}

// tenantSet is a directory of tenants.
type tenantSet struct {
	Path  []string `json:"path"`
	Types []string `json:"types"`
}

// listSets finds the directories of tenants by the schemas of the stores.
func (p *tenantPages) listSets(r *http.Request) (any, error) {
	found, more, err := p.stores.find(r.Context(), nil)
	if err != nil {
		return nil, err
	}
	all := []tenantSet{}
	for _, s := range found {
		path, ok := tenantsPath(s)
		if !ok {
			continue
		}
		i := slices.IndexFunc(all, func(known tenantSet) bool { return slices.Equal(known.Path, path) })
		if i < 0 {
			i = len(all)
			all = append(all, tenantSet{Path: path})
		}
		if !slices.Contains(all[i].Types, s.Type) {
			all[i].Types = append(all[i].Types, s.Type)
		}
	}
	return map[string]any{"sets": all, "more": more}, nil
}

// tenantsPath returns the directory of the tenants that a store belongs to: the one before the
// first {Field} of its schema's directory.
func tenantsPath(s storeState) ([]string, bool) {
	elements := strings.Split(s.Directory, "/")
	i := slices.IndexFunc(elements, func(e string) bool { return strings.HasPrefix(e, "{") })
	begin := len(s.Path) - len(elements)
	if i < 1 || begin < 0 {
		return nil, false
	}
	return s.Path[:begin+i], true
}

func (p *tenantPages) list(r *http.Request) (any, error) {
	limit, err := limitOf(r, 500)
	if err != nil {
		return nil, err
	}
	if len(pathOf(r)) == 0 {
		return nil, invalid("say in which directory the tenants are: p=…")
	}
	set := tenants.Of(p.stores.db, pathOf(r)...)
	names, err := set.Page(r.Context(), r.URL.Query().Get("after"), limit)
	if err != nil && !errors.Is(err, tenants.ErrUnreadable) {
		return nil, err
	}
	unreadable := ""
	if err != nil {
		unreadable = err.Error()
	}
	all, unmeasured := []tenantState{}, []string{}
	for _, name := range names {
		t, err := p.read(r, set, name)
		if errors.Is(err, tenants.ErrNotFound) {
			continue // removed since the names were read
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, t); t.Bytes == nil {
			unmeasured = append(unmeasured, name)
		}
	}
	next := ""
	if len(names) == limit {
		next = names[limit-1]
	}
	return map[string]any{"path": pathOf(r), "tenants": all, "unmeasured": unmeasured, "unreadable": unreadable, "next": next}, nil
}

func (p *tenantPages) read(r *http.Request, set *tenants.Set, name string) (t tenantState, err error) {
	t.Name = name
	if t.Bytes, err = p.sizes.sizeInTime(r.Context(), set.Path(name)); err != nil {
		return t, err
	}
	lock, locked, err := set.LockOf(r.Context(), name)
	if locked {
		t.Lock = &lock
	}
	usage, usageErr := set.Usage(r.Context(), name)
	if t.Usage, err = usage, cmp.Or(err, usageErr); errors.Is(err, tenants.ErrUnreadable) {
		t.Error, err = err.Error(), nil
	}
	return t, err
}

// show shows a tenant with its stores: what its removal removes. The prefix is read first: if
// another process puts another directory at the path while the others are read, the removal is refused.
func (p *tenantPages) show(r *http.Request) (any, error) {
	path := pathOf(r)
	if len(path) < 2 {
		return nil, invalid("say which tenant: the path of its directory, p=…&p=…")
	}
	d, err := p.stores.db.Layer().Open(r.Context(), p.stores.db.Engine(), path)
	if err != nil {
		return nil, err
	}
	t, err := p.read(r, tenants.Of(p.stores.db, path[:len(path)-1]...), path[len(path)-1])
	if err != nil {
		return nil, err
	}
	found, more, err := p.stores.find(r.Context(), path)
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

func (p *tenantPages) readRequest(r *http.Request) (q tenantRequest, set *tenants.Set, name string, err error) {
	if err = readBody(r, &q); err != nil {
		return q, nil, "", err
	}
	if len(q.Path) < 2 {
		return q, nil, "", invalid("path: it does not name a tenant")
	}
	last := len(q.Path) - 1
	return q, tenants.Of(p.stores.db, q.Path[:last]...), q.Path[last], nil
}

func (p *tenantPages) lock(r *http.Request) (any, error) {
	q, set, name, err := p.readRequest(r)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(q.Reason) == "" {
		return nil, invalid("reason: say what the lock is for; programs that are refused see it")
	}
	return set.Lock(r.Context(), name, q.Reason)
}

func (p *tenantPages) unlock(r *http.Request) (any, error) {
	q, set, name, err := p.readRequest(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{}, set.Unlock(r.Context(), tenants.Lock{Tenant: name, ID: q.Lock})
}

// remove starts the removal of the tenant that the page showed: it goes on when the page
// has gone.
func (p *tenantPages) remove(r *http.Request) (any, error) {
	q, set, name, err := p.readRequest(r)
	if err != nil {
		return nil, err
	}
	if q.Prefix == "" {
		return nil, invalid("prefix: say which directory is to be removed; api/tenant shows its prefix")
	}
	if err := p.checkRemoval(r.Context(), q, set, name); err != nil {
		return nil, err
	}
	return p.jobs.start("remove", "tenant "+strings.Join(q.Path, "/"), func(ctx context.Context, _ func(any)) (any, error) {
		return nil, set.DeleteIf(ctx, name, q.checkShown)
	})
}

// checkRemoval returns why a tenant is not removed; nil if a removal may begin, even of what an
// interrupted one has left. The removal checks the same in its transaction.
func (p *tenantPages) checkRemoval(ctx context.Context, q tenantRequest, set *tenants.Set, name string) error {
	if lock, locked, err := set.LockOf(ctx, name); locked {
		return tenancy.Locked("", q.Path, lock.Reason)
	} else if err != nil {
		return ignoreMissing(err)
	}
	return ignoreMissing(p.stores.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := p.stores.db.Layer().Open(ctx, tx, q.Path)
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
