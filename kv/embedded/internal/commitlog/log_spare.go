// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Segments that are not needed any more are written over by later ones: to sync
// a file whose blocks are there already costs about half of syncing one that
// grows, because the file system has nothing to note. What the old segment has
// left behind the new one's frames is invalid there: a frame's checksum covers
// the segment's number, and never fits another.
//
// A lazy log does not do that: it is not synced for each frame, and what a crash
// leaves of it can be told from damage only where a file was empty at first.

const (
	// sparePrefix begins the names of files that wait to be used again.
	sparePrefix = "spare-"

	// mostSpares is how many are kept.
	mostSpares = 8
)

// newFile makes the file of a segment, of a spare one if there is any.
func (l *Log) newFile(name string) (vfs.File, error) {
	path := l.fs.PathJoin(l.dir, name)
	if n := len(l.spares); n > 0 {
		spare := l.spares[n-1]
		l.spares = l.spares[:n-1]
		l.reused = true
		if err := l.fs.Rename(l.fs.PathJoin(l.dir, spare), path); err != nil {
			return nil, err
		}
		return l.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	}
	l.reused = false
	return l.fs.Create(path, vfs.WriteCategoryUnspecified)
}

// discard takes a segment out of the log. It does not reuse a file that may be a
// part of a backup too, as may each file from before this opening.
func (l *Log) discard(number uint64) error {
	name := segmentName(number)
	path := l.fs.PathJoin(l.dir, name)
	if l.lazy || number < l.first || number <= l.shared || len(l.spares) >= mostSpares {
		return l.fs.Remove(path)
	}
	spare := sparePrefix + name
	if err := l.fs.Rename(path, l.fs.PathJoin(l.dir, spare)); err != nil {
		return err
	}
	l.spares = append(l.spares, spare)
	return nil
}

// removeSpares removes the spare files that the folder has.
func (l *Log) removeSpares() error {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return fmt.Errorf("embedded: listing %s: %w", l.dir, err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, sparePrefix) {
			err = errors.Join(err, l.fs.Remove(l.fs.PathJoin(l.dir, name)))
		}
	}
	l.spares = nil
	return err
}
