// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// verifier checks one folder.
type verifier struct {
	ctx    context.Context
	fs     vfs.FS
	dir    string
	report *Report
	parts  parts
}

func verify(ctx context.Context, fs vfs.FS, dir string) (*Report, error) {
	v := verifier{ctx: ctx, fs: fs, dir: dir, report: &Report{}}
	if err := v.run(); err != nil {
		return v.report, fmt.Errorf("embedded: verifying %s: %w", dir, err)
	}
	var errs []error
	for _, damage := range v.report.Damage {
		errs = append(errs, damage)
	}
	return v.report, errors.Join(errs...)
}

func (v *verifier) run() error {
	if err := v.checkNotes(); err != nil {
		return err
	}
	absorbed, err := v.checkBase()
	if err != nil {
		return err
	}
	return v.checkLog(absorbed)
}

// keepDamage keeps damage for the report, and returns other errors.
func (v *verifier) keepDamage(err error) error {
	var damage *fault.CorruptError
	if errors.As(err, &damage) {
		v.report.Damage = append(v.report.Damage, damage)
		return nil
	}
	return err
}

// checkNotes reads what the folder is. A note that is damaged is one that is there. Without an
// identity nothing is lost: opening gives the database another one.
func (v *verifier) checkNotes() (err error) {
	v.parts = parts{fs: v.fs, dir: v.dir}
	if v.parts.identity, v.parts.format, err = readIdentity(v.fs, v.dir); err != nil {
		v.parts.identity = "damaged"
		if err = v.keepDamage(err); err != nil {
			return err
		}
	}
	if v.parts.backup, err = readBackup(v.fs, v.dir); err != nil {
		if err = v.keepDamage(err); err != nil {
			return err
		}
	}
	v.report.Backup = v.parts.backup
	v.parts.closed, err = readClosing(v.fs, v.dir)
	return v.keepDamage(err)
}

// checkLog checks the segments. What the base has absorbed need not be there.
func (v *verifier) checkLog(absorbed int64) error {
	l, err := v.parts.readLog(commitlog.Options{}, commitlog.Replay{
		Above: absorbed,
		Apply: func(int64, mutation.Mutation) { v.report.Writes++ },
		BeforeSegment: func(size int64) error {
			v.report.Files++
			v.report.Bytes += size
			return context.Cause(v.ctx)
		},
	})
	v.report.Torn, v.report.Version = l.TornBytes(), l.LastVersion()
	if absorbed != math.MaxInt64 {
		v.report.Version = max(v.report.Version, absorbed)
	}
	return v.keepDamage(err)
}
