// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// LogEntry is what the commit log has of one version: a batch of commits.
type LogEntry struct {
	Version  int64
	Writes   int    // keys set or cleared, and ranges cleared
	Bytes    int64  // of their keys and values
	FirstKey []byte // key of the first write, or begin of the range
}

// ReadLog calls do with each version of the commit log, ascending, of a database
// that no process has open, or of a backup. The log holds the newest commits: those
// that the base has on the disk are dropped in time. ReadLog changes nothing, keeps
// two segments in memory, and ends with the error of do.
//
// A [LockedError] says that the database is open, a [CorruptError] where the log
// cannot be read any further. Of the options only FS is used.
func ReadLog(ctx context.Context, dir string, o Options, do func(LogEntry) error) error {
	dir, err := o.resolveDir(dir)
	if err != nil {
		return err
	}
	o = o.withDefaults()
	lock, err := hold(o.FS, dir)
	if err != nil {
		return err
	}
	return errors.Join(listLog(ctx, lock.Guard(o.FS), dir, do), lock.Close())
}

func listLog(ctx context.Context, fs vfs.FS, dir string, do func(LogEntry) error) error {
	p, err := readParts(fs, dir)
	if err != nil {
		return err
	}
	exists, err := p.hasBase()
	if err == nil && !exists {
		err = fmt.Errorf("embedded: %s holds no database: %w", dir, iofs.ErrNotExist)
	}
	if err != nil {
		return err
	}
	entries := entryBuilder{do: do}
	// The base may have what the log lacks: only the log's own segments are checked.
	p.closed.Version, p.backup = 0, nil
	_, err = p.readLog(commitlog.Options{}, commitlog.Replay{
		Apply:         entries.add,
		BeforeSegment: func(int64) error { return errors.Join(entries.err, context.Cause(ctx)) },
	})
	if err != nil {
		return err
	}
	entries.flush()
	return entries.err
}

// entryBuilder gathers the writes of each version into an entry.
type entryBuilder struct {
	do    func(LogEntry) error
	entry LogEntry // of the version that is being read; Writes is 0 before the first
	err   error    // of do, which is then called no more
}

func (b *entryBuilder) add(version int64, m mutation.Mutation) {
	if version != b.entry.Version {
		b.flush()
	}
	if b.entry.Writes == 0 {
		b.entry = LogEntry{Version: version, FirstKey: m.Key}
	}
	b.entry.Writes++
	b.entry.Bytes += int64(len(m.Key) + len(m.Value))
}

// flush reports the version that was read last.
func (b *entryBuilder) flush() {
	if b.err == nil && b.entry.Writes > 0 {
		b.err = b.do(b.entry)
	}
	b.entry = LogEntry{}
}
