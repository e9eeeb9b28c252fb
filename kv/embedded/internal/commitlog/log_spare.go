// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// Segments that are not needed any more are written over by later ones: to sync
// a file whose blocks are there already costs about half of syncing one that
// grows, because the file system has nothing to note. What the old segment has
// left behind the new one's frames is invalid there: a frame's checksum covers
// the segment's number and salt, and never fits another.
//
// A lazy log does not do that: it is not synced for each frame, and what a crash
// leaves of it can be told from damage only where a file was empty at first.

const (
	// sparePrefix begins the names of files that wait to be used again, and of a file
	// until its header is written.
	sparePrefix = "spare-"

	// mostSpares is how many are kept.
	mostSpares = 8
)

// Owns reports whether a file with this name belongs to a log.
func Owns(name string) bool { return IsSegment(name) || strings.HasPrefix(name, sparePrefix) }

// IsSegment reports whether a file with this name is one that [Read] reads.
func IsSegment(name string) bool {
	_, ok := segmentNumber(name)
	return ok
}

// newFile makes the file of a segment, of a spare one if there is any, and writes its
// header. The file gets its name once the header is on the disk, so that no other
// header is ever found under that name. The name is not on the disk yet.
func (l *Log) newFile(h *header) (vfs.File, error) {
	draft, err := l.writeDraft(h)
	if err != nil {
		return nil, err
	}
	path := l.fs.PathJoin(l.dir, segmentName(h.number))
	if err := l.fs.Rename(draft, path); err != nil {
		return nil, err
	}
	file, err := l.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(file, make([]byte, h.size())); err != nil { // what is written next follows it
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// writeDraft writes a header to a spare file, or to a new one with such a name, and
// returns its path.
func (l *Log) writeDraft(h *header) (path string, err error) {
	var file vfs.File
	n := len(l.spares)
	if l.reused = n > 0; l.reused {
		path = l.fs.PathJoin(l.dir, l.spares[n-1])
		l.spares = l.spares[:n-1]
		file, err = l.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	} else {
		path = l.fs.PathJoin(l.dir, sparePrefix+segmentName(h.number))
		file, err = l.fs.Create(path, vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return "", err // some file systems return a file that is none
	}
	_, err = file.Write(h.append(nil))
	if err == nil {
		err = file.Sync()
	}
	return path, errors.Join(err, file.Close())
}

// discard removes the file of a segment, or makes it a spare one. It does not reuse a
// file that may be a part of a backup too, as may each file from before this opening.
func (l *Log) discard(number uint64) error {
	name := segmentName(number)
	path, spare := l.fs.PathJoin(l.dir, name), ""
	if l.wantsSpare(number) {
		spare = sparePrefix + name
	}
	var err error
	if spare == "" {
		err = l.fs.Remove(path)
	} else {
		err = l.fs.Rename(path, l.fs.PathJoin(l.dir, spare))
	}
	if err == nil {
		err = files.SyncDir(l.fs, l.dir)
	}
	if err == nil && spare != "" {
		l.addSpare(spare)
	}
	return err
}

// wantsSpare reports whether the file of a segment is to be used again.
func (l *Log) wantsSpare(number uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.lazy && number >= l.first && number > l.shared && len(l.spares) < mostSpares
}

func (l *Log) addSpare(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spares = append(l.spares, name)
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
