// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"strings"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// openWith opens the database with the options of the step; they stay until the
// next step of the kind.
func (s *script) openWith(d *datadriven.TestData) {
	o := Options{NoSync: d.HasArg("no-sync"), noAbsorb: true, memTable: 1 << 20, firstRepeat: -1}
	for name, field := range map[string]*int64{"segment-size": &o.segmentSize, "flush-at": &o.flushAt} {
		d.MaybeScanArgs(s.t, name, field)
	}
	if d.HasArg("dir") {
		d.ScanArgs(s.t, "dir", &s.dir)
	}
	run := 0
	if d.MaybeScanArgs(s.t, "run", &run) {
		o.leaps, o.runKeys = mvcc.Leaps{Every: 1, LongRun: run}, run
	}
	s.options = o
	s.open()
}

// open opens the database. Its disk calls onWrite and fails where a step wants that.
func (s *script) open() {
	s.options.FS = errorfs.Wrap(s.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		if do := s.onWrite.Load(); do != nil {
			(*do)()
		}
		if broken := s.broken.Load(); broken != nil && strings.Contains(op.Path, *broken) {
			return errorfs.ErrInjected
		}
		return nil
	}))
	db, err := OpenWith(s.dir, s.options)
	s.db = db
	s.fail(err)
}

func (s *script) close() {
	if s.db == nil {
		return
	}
	if s.release != nil {
		s.t.Fatal("the disk is held: release it before")
	}
	for _, tx := range s.txns {
		tx.Cancel()
	}
	clear(s.txns)
	s.fail(s.db.Close())
	s.db = nil
	s.broken.Store(nil)
}

func (s *script) backup(d *datadriven.TestData) {
	info, err := s.db.Backup(s.t.Context(), d.CmdArgs[0].Key)
	if err != nil {
		s.fail(err)
		return
	}
	s.printf("holds what was committed up to %s", s.version(info.Version))
}
