// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/rangesize"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// sizePages show directories and measure them.
type sizePages struct {
	db     *persistable.DB
	within time.Duration // of one measurement
}

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
func (p *sizePages) sizeOf(ctx context.Context, path []string) (n int64, err error) {
	err = p.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		a, err := p.newMeasurement(tx).measure(ctx, path, 0)
		if err == nil {
			n = a.Bytes
		}
		return err
	})
	return n, err
}

// sizeInTime is sizeOf for a tenant in a list; nil if that takes longer than one measurement may take.
func (p *sizePages) sizeInTime(ctx context.Context, path []string) (*int64, error) {
	limited, cancel := context.WithTimeout(ctx, p.within)
	defer cancel()
	n, err := p.sizeOf(limited, path)
	switch {
	case err == nil:
		return &n, nil
	case ctx.Err() == nil && limited.Err() != nil:
		return nil, nil
	}
	return nil, err
}

// showSizes measures a directory and those in it. It reads no keys but those of the directory layer.
func (p *sizePages) showSizes(r *http.Request) (any, error) {
	path := pathOf(r)
	var root *area
	err := p.db.Engine().ReadTransact(r.Context(), func(tx kv.ReadTransaction) error {
		m := p.newMeasurement(tx)
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

// showDirectory returns one directory as listings show it.
func (p *sizePages) showDirectory(r *http.Request) (any, error) {
	if len(pathOf(r)) == 0 {
		return nil, invalid("say which directory: its path, p=…")
	}
	var f folder
	err := p.db.Engine().ReadTransact(r.Context(), func(tx kv.ReadTransaction) error {
		var err error
		f, err = p.newMeasurement(tx).readFolder(r.Context(), pathOf(r))
		return err
	})
	return f, err
}

func (p *sizePages) listDirectories(r *http.Request) (any, error) {
	limit, err := limitOf(r, 1000)
	if err != nil {
		return nil, err
	}
	l := folders{Path: pathOf(r), Entries: []folder{}}
	err = p.db.Engine().ReadTransact(r.Context(), func(tx kv.ReadTransaction) error {
		l.Entries, l.Next, l.Unreadable = l.Entries[:0], "", ""
		names, err := p.db.Layer().ListAfter(r.Context(), tx, l.Path, r.URL.Query().Get("after"), limit)
		if isUnreadable(err) {
			l.Unreadable, err = err.Error(), nil
		}
		if err != nil {
			return err
		}
		m := p.newMeasurement(tx)
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

// The directories that one measurement reads at most, the bytes that it reads to count those with
// an estimate too small to be good, and how deep it tells them apart.
const (
	maxMeasured = 4000
	maxCounted  = 4 << 20
	levelsShown = 2
)

// measurement adds up the sizes of directories.
type measurement struct {
	pages *sizePages
	tx    kv.ReadTransaction
	left  int       // directories that may still be read
	read  int       // bytes that may still be read to count small ranges
	end   time.Time // after which no further directories are read
}

func (p *sizePages) newMeasurement(tx kv.ReadTransaction) *measurement {
	end := time.Now().Add(p.within)
	return &measurement{p, tx, maxMeasured, maxCounted, end}
}

// isSpent reports whether no further directories may be read.
func (m *measurement) isSpent() bool { return m.left <= 0 || !time.Now().Before(m.end) }

// measure adds up a directory and those in it.
func (m *measurement) measure(ctx context.Context, path []string, levels int) (*area, error) {
	m.left--
	d, err := m.pages.db.Layer().Open(ctx, m.tx, path)
	if err != nil {
		return nil, err
	}
	a := &area{Name: path[len(path)-1], Layer: d.Layer(), Children: []*area{}}
	if !d.IsPartition() || levels > 0 {
		if err := m.measureChildren(ctx, a, path, levels); err != nil {
			return nil, err
		}
	}
	n, err := m.sizeOf(ctx, d.Reserve())
	if d.IsPartition() {
		a.Own = max(0, n-a.Bytes)
		a.Bytes = max(n, a.Bytes)
	} else {
		a.Own = n
		a.Bytes += n
	}
	return a, err
}

// measureChildren adds the directories in one: their sizes, and down to the level that is shown
// themselves.
func (m *measurement) measureChildren(ctx context.Context, a *area, path []string, levels int) error {
	names, err := m.pages.db.Layer().ListAfter(ctx, m.tx, path, "", max(m.left, 0)+1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if m.isSpent() {
			a.More = true
			break
		}
		child, err := m.measure(ctx, append(slices.Clip(path), name), levels-1)
		if errors.Is(err, directory.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		a.Bytes += child.Bytes
		a.More = a.More || child.More
		if levels > 0 {
			a.Children = append(a.Children, child)
		}
	}
	return nil
}

// sizeOf returns the size of a range, counted if it is small and not too much was read already.
func (m *measurement) sizeOf(ctx context.Context, r kv.KeyRange) (int64, error) {
	if m.read <= 0 {
		return m.tx.GetEstimatedRangeSizeBytes(r).Get(ctx)
	}
	size, read, err := rangesize.Of(ctx, m.tx, r)
	m.read -= int(read)
	return size, err
}

// readFolder reads a directory for a listing.
func (m *measurement) readFolder(ctx context.Context, path []string) (f folder, err error) {
	d, err := m.pages.db.Layer().Open(ctx, m.tx, path)
	if err != nil {
		return f, err
	}
	below, err := m.pages.db.Layer().ListAfter(ctx, m.tx, path, "", 1)
	if err != nil && !isUnreadable(err) {
		return f, err
	}
	f = folder{
		Name: path[len(path)-1], Layer: d.Layer(), Prefix: prefixText(d),
		Leaf: len(below) == 0 && err == nil, System: m.pages.db.HoldsSystem(path...),
	}
	f.Bytes, err = m.sizeOf(ctx, d.Reserve())
	return f, err
}
