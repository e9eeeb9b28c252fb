// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// The directories that one measurement reads at most, the bytes that it reads to count those whose
// estimate is too small to be good, and how deep it tells them apart.
const (
	maxMeasured = 4000
	maxCounted  = 4 << 20
	levelsShown = 2
)

// measurement adds up the sizes of directories.
type measurement struct {
	h    *Handler
	tx   kv.ReadTransaction
	left int       // directories that may still be read
	read int       // bytes that may still be read to count small ranges
	end  time.Time // after which no further directories are read
}

func newMeasurement(h *Handler, tx kv.ReadTransaction) *measurement {
	end := time.Now().Add(h.options.SizeWithin)
	return &measurement{h, tx, maxMeasured, maxCounted, end}
}

// isSpent reports whether no further directories may be read.
func (m *measurement) isSpent() bool { return m.left <= 0 || !time.Now().Before(m.end) }

// measure adds up a directory and those in it.
func (m *measurement) measure(ctx context.Context, path []string, levels int) (*area, error) {
	m.left--
	d, err := m.h.db.Layer().Open(ctx, m.tx, path)
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
	names, err := m.h.db.Layer().ListAfter(ctx, m.tx, path, "", max(m.left, 0)+1)
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

// smallest is the estimate, in bytes, from which on it is good enough; pairsCounted is how many
// pairs are counted instead of a smaller one.
const (
	smallest     = 64 << 10
	pairsCounted = 1000
)

// sizeOf returns the size of a range: the engine's estimate, or the exact size where that is small
// and few pairs are there.
func (m *measurement) sizeOf(ctx context.Context, r kv.KeyRange) (int64, error) {
	estimate, err := m.tx.GetEstimatedRangeSizeBytes(r).Get(ctx)
	if err != nil || estimate >= smallest || m.read <= 0 {
		return estimate, err
	}
	pairs, err := m.tx.Snapshot().GetRange(r.Selectors(), kv.RangeOptions{Limit: pairsCounted, Mode: kv.ModeWantAll}).Slice(ctx)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, p := range pairs {
		n += int64(len(p.Key) + len(p.Value))
	}
	m.read -= int(n)
	if len(pairs) == pairsCounted {
		return max(n, estimate), nil
	}
	return n, nil
}

// readFolder reads a directory for a listing.
func (m *measurement) readFolder(ctx context.Context, path []string) (f folder, err error) {
	d, err := m.h.db.Layer().Open(ctx, m.tx, path)
	if err != nil {
		return f, err
	}
	below, err := m.h.db.Layer().ListAfter(ctx, m.tx, path, "", 1)
	if err != nil && !isUnreadable(err) {
		return f, err
	}
	f = folder{
		Name: path[len(path)-1], Layer: d.Layer(), Prefix: prefixText(d),
		Leaf: len(below) == 0 && err == nil, System: m.h.db.HoldsSystem(path...),
	}
	f.Bytes, err = m.sizeOf(ctx, d.Reserve())
	return f, err
}
