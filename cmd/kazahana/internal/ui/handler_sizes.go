// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"net/http"

	"github.com/kazahana-db/kazahana/kv"
)

// area is a directory with the sizes of what is in it.
type area struct {
	Name     string  `json:"name"`
	Layer    string  `json:"layer,omitempty"`
	Bytes    int64   `json:"bytes"` // with all directories in it
	Own      int64   `json:"own"`   // without them; 0 for a partition
	Children []*area `json:"children"`
	More     bool    `json:"more,omitempty"` // it has directories that are not among Children
}

// sizeOf returns the size of a directory with those in it.
func (h *Handler) sizeOf(ctx context.Context, path []string) (n int64, err error) {
	err = h.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		a, err := newMeasurement(h, tx).measure(ctx, path, 0)
		if err == nil {
			n = a.Bytes
		}
		return err
	})
	return n, err
}

// sizeInTime is sizeOf; nil if it takes longer than a tenant of a list may take.
func (h *Handler) sizeInTime(ctx context.Context, path []string) (*int64, error) {
	limited, cancel := context.WithTimeout(ctx, h.options.SizeWithin)
	defer cancel()
	n, err := h.sizeOf(limited, path)
	switch {
	case err == nil:
		return &n, nil
	case ctx.Err() == nil && limited.Err() != nil:
		return nil, nil
	}
	return nil, err
}

// sizes measures a directory and those in it. It reads no keys but those of the directory layer.
func (h *Handler) sizes(r *http.Request) (any, error) {
	path := pathOf(r)
	var root *area
	err := h.db.Engine().ReadTransact(r.Context(), func(tx kv.ReadTransaction) error {
		m := newMeasurement(h, tx)
		if len(path) > 0 {
			var err error
			root, err = m.measure(r.Context(), path, levelsShown)
			return err
		}
		total, err := m.sizeOf(r.Context(), allKeys)
		if err != nil {
			return err
		}
		root = &area{Children: []*area{}}
		if err := m.measureChildren(r.Context(), root, nil, levelsShown); err != nil {
			return err
		}
		root.Own = max(0, total-root.Bytes)
		root.Bytes = max(total, root.Bytes)
		return nil
	})
	return map[string]any{"path": path, "root": root}, err
}
