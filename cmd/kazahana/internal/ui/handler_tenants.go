// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// tenantState is a tenant in a listing.
type tenantState struct {
	Name  string        `json:"name"`
	Bytes *int64        `json:"bytes"` // by the engine's estimate, or counted if it is small; nil if that took too long
	Lock  *tenants.Lock `json:"lock,omitempty"`
	Usage tenants.Usage `json:"usage"`
	Error string        `json:"error,omitempty"` // why lock and quota cannot be read
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
	if err != nil && !errors.Is(err, tenants.ErrUnreadable) {
		return nil, err
	}
	unreadable := ""
	if err != nil {
		unreadable = err.Error()
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
	return map[string]any{"path": pathOf(r), "tenants": all, "unmeasured": unmeasured, "unreadable": unreadable, "next": next}, nil
}

func (h *Handler) readTenant(r *http.Request, set *tenants.Set, name string) (t tenantState, err error) {
	t.Name = name
	if t.Bytes, err = h.sizeInTime(r.Context(), set.Path(name)); err != nil {
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
