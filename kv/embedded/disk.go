// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commit"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// backup copies base and log to dir. The log is copied after the base and has
// lost nothing that the base had not on the disk: opening the copy replays what
// its base lacks, up to the last version that the copied log has.
func (d *disk) backup(ctx context.Context, dir string) (BackupInfo, error) {
	s, err := newPartialDir(d.options.FS, dir)
	if err != nil {
		return BackupInfo{}, err
	}
	defer d.log.Pin()()
	info := BackupInfo{Database: d.identity, Time: time.Now().UTC()}
	err = d.base.Checkpoint(ctx, s.fs.PathJoin(s.work, baseDir))
	if err == nil {
		info.Version, err = d.log.CopyTo(ctx, s.work)
	}
	if err == nil {
		err = writeNote(s.fs, s.fs.PathJoin(s.work, backupName), info.note())
	}
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		return BackupInfo{}, s.abandon(err)
	}
	return info, nil
}

// measure fills in what concerns the disk.
func (d *disk) measure(m *Metrics, s *commit.Stats) {
	m.Sync = readHistogram(d.log.SyncTimes(), 64*time.Microsecond)
	u := d.absorber.WindowUse()
	m.Delayed, m.Delays, m.DelayTime = u.Delayed, u.Delays, u.DelayTime
	m.WindowBytes, m.WindowLimit, m.WindowWrites = u.Bytes, u.Limit, u.Writes
	m.LogBytes, m.LogSegments = d.log.Backlog()
	m.AbsorbedVersion = d.base.AbsorbedVersion()
	m.AbsorbedWrites, m.AbsorbTime = s.AbsorbedWrites.Load(), time.Duration(s.AbsorbTime.Load())
	if err := d.fault.Get(); err != nil {
		m.Fault = err.Error()
	}
	b := d.base.Metrics()
	m.BaseBytes, m.BaseTables, m.BaseMemory = b.Bytes, b.Tables, b.Memory
	m.BaseCacheBytes, m.BaseCacheHits, m.BaseCacheMisses = b.CacheBytes, b.CacheHits, b.CacheMisses
	m.BaseCompactions, m.BaseCompactBytes = b.Compactions, b.CompactBytes
}

// disk is what a durable database has beyond one in memory.
type disk struct {
	lock     io.Closer
	base     *base.Base
	log      *commitlog.Log
	fault    *fault.Fault
	absorber *commit.Absorber
	keeper   *commitlog.Keeper
	copies   *copies
	options  Options
	dir      string
	identity string
}

// close releases everything. The committer has stopped. Unless the disk has
// failed, it notes how far the log went.
func (d *disk) close() error {
	d.copies.stop()
	d.absorber.Stop()
	d.keeper.Stop()
	c, err := d.log.Close()
	if err == nil && d.fault.Get() == nil && !d.options.ReadOnly {
		err = writeClosing(d.options.FS, d.dir, c)
	}
	if err != nil {
		err = d.fault.Raise("closing the log", err)
	}
	return errors.Join(err, d.base.Close(), d.lock.Close())
}
