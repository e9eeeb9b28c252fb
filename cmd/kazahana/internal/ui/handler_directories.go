// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// folder is a directory in a listing.
type folder struct {
	Name   string `json:"name"`
	Layer  string `json:"layer,omitempty"`
	Prefix string `json:"prefix"` // hexadecimal
	Bytes  int64  `json:"bytes"`  // of its own keys, by the engine's estimate; of a partition all
	Leaf   bool   `json:"leaf"`   // there are no directories in it
	System bool   `json:"system,omitempty"`
	Error  string `json:"error,omitempty"` // why it cannot be read; the rest but Name is zero then
}

// folders is a page of the directories in one.
type folders struct {
	Path    []string `json:"path"`
	Entries []folder `json:"entries"`
	Next    string   `json:"next,omitempty"` // the last name; empty on the last page

	Unreadable string `json:"unreadable,omitempty"` // keys among the names that are none
}

// directory returns one directory as listings show it.
func (h *Handler) directory(r *http.Request) (f folder, err error) {
	if len(pathOf(r)) == 0 {
		return f, invalid("say which directory: its path, p=…")
	}
	err = h.db.Engine().ReadTransact(r.Context(), func(tx kv.ReadTransaction) error {
		f, err = newMeasurement(h, tx).readFolder(r.Context(), pathOf(r))
		return err
	})
	return f, err
}

func (h *Handler) directories(r *http.Request) (any, error) {
	limit, err := limitOf(r, 1000)
	if err != nil {
		return nil, err
	}
	l := folders{Path: pathOf(r), Entries: []folder{}}
	err = h.db.Engine().ReadTransact(r.Context(), func(tx kv.ReadTransaction) error {
		l.Entries, l.Next, l.Unreadable = l.Entries[:0], "", ""
		names, err := h.db.Layer().ListAfter(r.Context(), tx, l.Path, r.URL.Query().Get("after"), limit)
		if isUnreadable(err) {
			l.Unreadable, err = err.Error(), nil
		}
		if err != nil {
			return err
		}
		m := newMeasurement(h, tx)
		if len(names) == limit {
			l.Next = names[limit-1]
		}
		for _, name := range names {
			f, err := m.readFolder(r.Context(), append(slices.Clip(l.Path), name))
			if isUnreadable(err) {
				f, err = folder{Name: name, Leaf: true, Error: err.Error()}, nil
			}
			if err != nil {
				return err
			}
			l.Entries = append(l.Entries, f)
		}
		return nil
	})
	return l, err
}

// isUnreadable reports whether metadata of directories is damaged or a newer version's: a listing goes on with
// the next directory.
func isUnreadable(err error) bool {
	return errors.Is(err, directory.ErrCorrupt) || errors.Is(err, directory.ErrVersion)
}
