// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// tenantState is a tenant in a listing.
type tenantState struct {
	Name  string        `json:"name"`
	Bytes *int64        `json:"bytes"` // by the engine's estimate, or counted if it is small; nil if that took too long
	Lock  *tenants.Lock `json:"lock,omitempty"`
	Usage tenants.Usage `json:"usage"`
}

// tenantSet is a directory whose directories are tenants.
type tenantSet struct {
	Path  []string `json:"path"`
	Types []string `json:"types"`
}

// sets finds the directories of tenants by the schemas of the stores.
func (h *Handler) sets(r *http.Request) (any, error) {
	found, more, err := h.findStores(r.Context(), nil, h.options.MaxStores)
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

func (h *Handler) tenants(r *http.Request) (any, error) {
	limit, err := limitOf(r, 500)
	if err != nil {
		return nil, err
	}
	if len(pathOf(r)) == 0 {
		return nil, invalid("say in which directory the tenants are: p=…")
	}
	set := tenants.Of(h.db, pathOf(r)...)
	names, err := set.Page(r.Context(), r.URL.Query().Get("after"), limit)
	if err != nil {
		return nil, err
	}
	all, unmeasured := []tenantState{}, []string{}
	for _, name := range names {
		t, err := h.readTenant(r, set, name)
		if errors.Is(err, tenants.ErrNotFound) {
			continue // removed meanwhile
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
	return map[string]any{"path": pathOf(r), "tenants": all, "unmeasured": unmeasured, "next": next}, nil
}

func (h *Handler) readTenant(r *http.Request, set *tenants.Set, name string) (t tenantState, err error) {
	t.Name = name
	if t.Bytes, err = h.sizeInTime(r.Context(), set.Path(name)); err != nil {
		return t, err
	}
	lock, locked, err := set.LockOf(r.Context(), name)
	if err != nil {
		return t, err
	}
	if locked {
		t.Lock = &lock
	}
	t.Usage, err = set.Usage(r.Context(), name)
	return t, err
}

// tenant shows a tenant with its stores: what its removal removes.
func (h *Handler) tenant(r *http.Request) (any, error) {
	path := pathOf(r)
	if len(path) < 2 {
		return nil, invalid("say which tenant: the path of its directory, p=…&p=…")
	}
	set := tenants.Of(h.db, path[:len(path)-1]...)
	t, err := h.readTenant(r, set, path[len(path)-1])
	if err != nil {
		return nil, err
	}
	found, more, err := h.findStores(r.Context(), path, h.options.MaxStores)
	if errors.Is(err, persistable.ErrNotFound) {
		err = nil
	}
	return map[string]any{"tenant": t, "stores": found, "more": more}, err
}

// tenantRequest names a tenant in a request that changes it.
type tenantRequest struct {
	Path   []string `json:"path"` // of its directory
	Reason string   `json:"reason,omitempty"`
	Lock   string   `json:"lock,omitempty"` // the id of the lock that the page showed
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

// checkRemoval returns why a tenant is not removed; nil if a removal may begin, also of what an
// interrupted one has left.
func checkRemoval(ctx context.Context, set *tenants.Set, name string) error {
	lock, locked, err := set.LockOf(ctx, name)
	if locked {
		return &persistable.LockedError{Path: set.Path(name), Reason: lock.Reason}
	}
	if errors.Is(err, tenants.ErrNotFound) {
		return nil
	}
	return err
}

// removeTenant starts the removal of a tenant: it goes on when the page has gone.
func (h *Handler) removeTenant(r *http.Request) (any, error) {
	q, set, name, err := h.readTenantRequest(r)
	if err != nil {
		return nil, err
	}
	if err := checkRemoval(r.Context(), set, name); err != nil {
		return nil, err
	}
	return h.startNamed("remove", "tenant "+strings.Join(q.Path, "/"), func(ctx context.Context, _ func(any)) (any, error) {
		return nil, set.Delete(ctx, name)
	})
}

// storeState is a store in a listing.
type storeState struct {
	Path      []string `json:"path"`
	Type      string   `json:"type"`
	Directory string   `json:"directory"` // of the schema
	Versions  bool     `json:"versions"`
	Indexes   int      `json:"indexes"`
	Unready   int      `json:"unready"` // indexes that are not readable
	Error     string   `json:"error,omitempty"`
}

func newStoreState(at dynamic.Location, s *dynamic.Store, err error) storeState {
	state := storeState{Path: at.Path, Type: at.Type}
	if err != nil {
		state.Error = err.Error()
		return state
	}
	schema := s.Schema()
	state.Directory, state.Versions, state.Indexes = schema.Directory, schema.Versions, len(schema.Indexes)
	for _, x := range schema.Indexes {
		if !isReadable(x.State) {
			state.Unready++
		}
	}
	return state
}
