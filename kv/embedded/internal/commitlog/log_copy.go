// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"context"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// Pin keeps drop from removing segments until unpin is called.
func (l *Log) Pin() (unpin func()) {
	l.addPins(1)
	return func() { l.addPins(-1) }
}

// IsPinned reports whether segments are kept for a copy.
func (l *Log) IsPinned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pins > 0
}

func (l *Log) addPins(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pins += n
}

// CopyTo copies the log as it is now, pinned, to another folder, and returns the last
// version in it. Complete segments are shared: they are never written again.
func (l *Log) CopyTo(ctx context.Context, dir string) (version int64, err error) {
	l.mu.Lock()
	version, number, size := l.last, l.number, l.size
	numbers := make([]uint64, 0, len(l.old))
	for _, s := range l.old {
		numbers = append(numbers, s.number)
	}
	l.mu.Unlock()
	for _, n := range numbers {
		if err := l.shareSegment(ctx, n, dir); err != nil {
			return 0, err
		}
	}
	name := segmentName(number)
	_, err = files.Copy(ctx, l.fs, l.fs.PathJoin(l.dir, name), l.fs.PathJoin(dir, name), size)
	return version, err
}

func (l *Log) shareSegment(ctx context.Context, number uint64, dir string) error {
	name := segmentName(number)
	from, to := l.fs.PathJoin(l.dir, name), l.fs.PathJoin(dir, name)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if l.fs.Link(from, to) == nil {
		l.mu.Lock()
		l.shared = max(l.shared, number)
		l.mu.Unlock()
		return nil
	}
	_, err := files.Copy(ctx, l.fs, from, to, -1)
	return err
}
